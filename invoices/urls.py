"""The finance pages and their JSON siblings."""

from django.urls import path

from invoices.views import home, invoices, reminders, sending

urlpatterns = [
    path("", home.home, name="home"),
    path("invoices", invoices.invoice_list, name="invoice_list"),
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
    path("reminders", reminders.reminder_list, name="reminder_list"),
    path("settings/reminders", reminders.reminder_settings, name="reminder_settings"),
    path("deliveries/<int:delivery_id>", sending.delivery, name="delivery"),
    path("organization", home.choose_organization, name="choose_organization"),
]
