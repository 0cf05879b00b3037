"""The pages about reminders: a day's, an invoice's pauses, an organization's settings."""

import logging

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import pages, reminders
from invoices.access import (
    MemberRequest,
    invoice_or_404,
    member_required,
    owner_to_change,
    sender_only,
)
from invoices.forms.reminders import ReminderSettingsForm
from invoices.methods import only
from invoices.views.page import whole_page

logger = logging.getLogger(__name__)

REMINDERS_PER_PAGE = 50


@only("GET", "HEAD")
@never_cache
@member_required
def reminder_list(request: MemberRequest) -> HttpResponse:
    """The reminders of a day, and who would get one if its run is still ahead."""
    organization = request.member.organization
    formats = pages.Formats.of(organization)
    day, problem = pages.chosen_day(request.GET.get("date"), now=formats.now)
    group = request.GET.get("state")
    of_day = pages.of_group(organization, day, group)
    page = Paginator(of_day, REMINDERS_PER_PAGE).get_page(request.GET.get("page"))
    frame = pages.reminder_day(organization, day, chosen=group, formats=formats)
    return whole_page(
        request,
        "invoices/reminders.html",
        day=frame,
        page=page,
        rows=pages.reminder_rows(list(page), day, formats=formats),
        foreseen=pages.foreseen(organization, day, formats=formats) if frame.run_is_ahead else None,
        problem=problem,
        notices=pages.notices(organization, formats),
    )


@only("POST")
@member_required
@sender_only
def pause_reminders(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    reminders.pause(invoice, user_id=request.user.pk)
    messages.success(request, _("Reminders of %s are paused.") % invoice.number)
    return _to_the_card(invoice_id)


@only("POST")
@member_required
@sender_only
def resume_reminders(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    reminders.resume(invoice, user_id=request.user.pk)
    messages.success(request, _("Reminders of %s are no longer paused.") % invoice.number)
    return _to_the_card(invoice_id)


@only("POST")
@member_required
@sender_only
def pause_customer_reminders(request: MemberRequest, invoice_id: int) -> HttpResponse:
    customer = invoice_or_404(request, invoice_id).customer
    reminders.pause(customer, user_id=request.user.pk)
    messages.success(request, _("Reminders of all invoices to %s are paused.") % customer)
    return _to_the_card(invoice_id)


@only("POST")
@member_required
@sender_only
def resume_customer_reminders(request: MemberRequest, invoice_id: int) -> HttpResponse:
    customer = invoice_or_404(request, invoice_id).customer
    reminders.resume(customer, user_id=request.user.pk)
    messages.success(request, _("Reminders to %s are no longer paused.") % customer)
    return _to_the_card(invoice_id)


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@owner_to_change
def reminder_settings(request: MemberRequest) -> HttpResponse:
    """The organization's rules of reminding: all its members see them, its owners set them."""
    member = request.member
    form = ReminderSettingsForm(request.POST or None, instance=member.organization)
    if request.method == "POST" and form.is_valid():
        form.save()
        logger.info(
            "reminder settings changed",
            extra={"organization": member.organization_id, "user": request.user.pk},
        )
        messages.success(request, _("The settings are saved."))
        return redirect("reminder_settings")
    return whole_page(request, "invoices/reminder_settings.html", form=form)


def _to_the_card(invoice_id: int) -> HttpResponse:
    return redirect(f"{reverse('invoice_detail', args=[invoice_id])}#reminders")
