"""The finance pages and their JSON siblings."""

from django.urls import path

from invoices import views

urlpatterns = [
    path("", views.home, name="home"),
    path("invoices", views.invoice_list, name="invoice_list"),
    path("invoices/<int:invoice_id>", views.invoice_detail, name="invoice_detail"),
    path("invoices/<int:invoice_id>/send", views.send_invoice, name="send_invoice"),
    path("invoices/<int:invoice_id>/state", views.invoice_state, name="invoice_state"),
    path("invoices/<int:invoice_id>/pdf", views.invoice_pdf, name="invoice_pdf"),
    path("deliveries/<int:delivery_id>", views.delivery, name="delivery"),
    path("organization", views.choose_organization, name="choose_organization"),
]
