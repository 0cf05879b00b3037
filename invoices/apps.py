from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "invoices"
    verbose_name = "Invoices"

    def ready(self) -> None:
        from deliveries import directory, kinds
        from invoices.directory import InvoiceDirectory
        from invoices.emails import InvoiceEmail, ReminderEmail

        kinds.register(InvoiceEmail())
        kinds.register(ReminderEmail())
        directory.register(InvoiceDirectory())
