"""Addresses of the ledger that other programs use."""

from django.urls import path

from deliveries import views

urlpatterns = [
    path("webhooks/email", views.email_events, name="email_events"),
]
