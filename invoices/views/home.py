"""Where everybody begins, and the choice between several organizations."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from invoices.access import ORGANIZATION_IN_SESSION, MemberRequest, member_required
from invoices.methods import only
from invoices.models import Member
from invoices.views.page import local_path


@only("GET", "HEAD")
def home(request: HttpRequest) -> HttpResponse:
    """Lead finance staff to their invoices; support, in no organization, to the admin."""
    user = request.user
    if user.is_staff and not Member.objects.filter(user_id=user.pk).exists():
        return redirect("admin:index")
    return redirect("invoice_list")


@only("POST")
@member_required
def choose_organization(request: MemberRequest) -> HttpResponse:
    member = get_object_or_404(
        Member,
        user=request.user,
        organization__slug=request.POST.get("organization", ""),
        organization__closed_at__isnull=True,
    )
    request.session[ORGANIZATION_IN_SESSION] = member.organization_id
    return redirect(local_path(request.POST.get("next", "")) or reverse("invoice_list"))
