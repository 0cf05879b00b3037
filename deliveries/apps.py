from django.apps import AppConfig


class DeliveriesConfig(AppConfig):
    name = "deliveries"
    verbose_name = "Deliveries"

    def ready(self) -> None:
        from deliveries import checks, deploy_checks  # noqa: F401 - registers them
