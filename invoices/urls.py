"""The finance pages and their JSON siblings."""

from django.urls import path

from invoices.views import (
    batches,
    closing,
    drafts,
    home,
    importing,
    invoices,
    reminders,
    resending,
    sending,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("invoices", invoices.invoice_list, name="invoice_list"),
    path("invoices/export", invoices.export_invoices, name="export_invoices"),
    path("invoices/send", batches.send_invoices, name="send_invoices"),
    path("invoices/import", importing.import_invoices, name="import_invoices"),
    path("invoices/import/sample.csv", importing.sample, name="import_sample"),
    path("invoices/import/<int:upload_id>", importing.upload, name="upload"),
    path("invoices/new", drafts.new_invoice, name="new_invoice"),
    path("invoices/totals", drafts.invoice_totals, name="invoice_totals"),
    path("invoices/customers", drafts.customer_options, name="customer_options"),
    path("invoices/<int:invoice_id>/edit", drafts.edit_invoice, name="edit_invoice"),
    path("invoices/<int:invoice_id>/send-again", resending.send_again, name="send_again"),
    path("invoices/<int:invoice_id>/retry", resending.retry_invoice, name="retry_invoice"),
    path("invoices/<int:invoice_id>/paid", closing.mark_paid, name="mark_paid"),
    path("invoices/<int:invoice_id>/unpaid", closing.mark_unpaid, name="mark_unpaid"),
    path("invoices/<int:invoice_id>/void", closing.void_invoice, name="void_invoice"),
    path("invoices/<int:invoice_id>", invoices.invoice_detail, name="invoice_detail"),
    path("invoices/<int:invoice_id>/send", sending.send_invoice, name="send_invoice"),
    path("invoices/<int:invoice_id>/state", invoices.invoice_state, name="invoice_state"),
    path("invoices/<int:invoice_id>/pdf", invoices.invoice_pdf, name="invoice_pdf"),
    path(
        "invoices/<int:invoice_id>/reminders/pause",
        reminders.pause_reminders,
        name="pause_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/reminders/resume",
        reminders.resume_reminders,
        name="resume_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/customer/reminders/pause",
        reminders.pause_customer_reminders,
        name="pause_customer_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/customer/reminders/resume",
        reminders.resume_customer_reminders,
        name="resume_customer_reminders",
    ),
    path("batches", batches.batch_list, name="batch_list"),
    path("batches/<int:batch_id>", batches.batch, name="batch"),
    path("batches/<int:batch_id>/state", batches.batch_state, name="batch_state"),
    path("batches/<int:batch_id>/continue", batches.continue_batch, name="continue_batch"),
    path("reminders", reminders.reminder_list, name="reminder_list"),
    path("settings/reminders", reminders.reminder_settings, name="reminder_settings"),
    path("deliveries/<int:delivery_id>", sending.delivery, name="delivery"),
    path("organization", home.choose_organization, name="choose_organization"),
]
