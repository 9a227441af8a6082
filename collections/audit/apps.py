from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit"
    default = True

    def ready(self) -> None:
        from audit import accounts, sign_in  # noqa: F401  # connects the signal receivers


class AuditWithoutAccountsConfig(AppConfig):
    """The log alone, for a process that nobody signs in to."""

    name = "audit"
    verbose_name = "Audit"
