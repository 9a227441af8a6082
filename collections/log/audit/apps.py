from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AuditWithoutAccountsConfig(AppConfig):
    """The log alone, for a process without sign-in."""

    name = "log.audit"

    def ready(self) -> None:
        autodiscover_modules("actions")


class AuditConfig(AuditWithoutAccountsConfig):
    default = True

    def ready(self) -> None:
        super().ready()
        from log.audit import accounts, sign_in  # noqa: F401  # connects the signal receivers
