from django.apps import AppConfig


class InvoiceHubConfig(AppConfig):
    name = "invoicehub"

    def ready(self) -> None:
        from invoicehub import checks, deploy_checks  # noqa: F401 - registers them
