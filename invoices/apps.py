from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "invoices"
    verbose_name = "Invoices"

    def ready(self) -> None:
        from deliveries import kinds
        from invoices.emails import InvoiceEmail, ReminderEmail

        kinds.register(InvoiceEmail())
        kinds.register(ReminderEmail())
