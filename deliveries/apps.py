from django.apps import AppConfig


class DeliveriesConfig(AppConfig):
    name = "deliveries"
    verbose_name = "Deliveries"

    def ready(self) -> None:
        from deliveries import checks, deploy_checks, policy, providers  # noqa: F401 - registers

        policy.take_key_lifetime_from(providers.key_lifetime_of_the_configured)
