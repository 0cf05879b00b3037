from django.apps import AppConfig


class InvoiceHubConfig(AppConfig):
    name = "invoicehub"

    def ready(self) -> None:
        from invoicehub import checks  # noqa: F401 - registers them
