from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class PublicLogConfig(AppConfig):
    """The log of an installation with workers: a periodic task signs what was entered."""

    default = True
    name = "log.public_log"

    def ready(self) -> None:
        autodiscover_modules("log_checks")


class SignedAtOnceConfig(PublicLogConfig):
    """The log of one without: the process that adds an entry signs it."""

    default = False

    def ready(self) -> None:
        super().ready()
        from django.db.models.signals import post_save

        from log.audit.models import Entry
        from log.public_log.immediate_signing import sign_after_commit

        post_save.connect(sign_after_commit, sender=Entry, dispatch_uid="public_log")
