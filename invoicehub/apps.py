from django.apps import AppConfig


class InvoiceHubConfig(AppConfig):
    name = "invoicehub"
