"""The finance pages and their JSON siblings."""

from django.urls import path

from invoices import reminder_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("invoices", views.invoice_list, name="invoice_list"),
    path("invoices/<int:invoice_id>", views.invoice_detail, name="invoice_detail"),
    path("invoices/<int:invoice_id>/send", views.send_invoice, name="send_invoice"),
    path("invoices/<int:invoice_id>/state", views.invoice_state, name="invoice_state"),
    path("invoices/<int:invoice_id>/pdf", views.invoice_pdf, name="invoice_pdf"),
    path(
        "invoices/<int:invoice_id>/reminders/pause",
        reminder_views.pause_reminders,
        name="pause_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/reminders/resume",
        reminder_views.resume_reminders,
        name="resume_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/customer/reminders/pause",
        reminder_views.pause_customer_reminders,
        name="pause_customer_reminders",
    ),
    path(
        "invoices/<int:invoice_id>/customer/reminders/resume",
        reminder_views.resume_customer_reminders,
        name="resume_customer_reminders",
    ),
    path("reminders", reminder_views.reminder_list, name="reminder_list"),
    path("settings/reminders", reminder_views.reminder_settings, name="reminder_settings"),
    path("deliveries/<int:delivery_id>", views.delivery, name="delivery"),
    path("organization", views.choose_organization, name="choose_organization"),
]
