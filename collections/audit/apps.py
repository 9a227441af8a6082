from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from audit import accounts, sign_in  # noqa: F401  # connects the signal receivers
