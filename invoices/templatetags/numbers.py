"""`{{ batch.size|counted:member }}`: a count as the member's organization writes it, 1,250."""

from django import template

from invoices import pages
from invoices.models import Member

register = template.Library()


@register.filter
def counted(number: int, member: Member) -> str:
    return pages.Formats.of(member.organization).count(number)
