from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Privacy ledger"

    def ready(self) -> None:
        from ledger.losses import CachedLosses
        from panprivacy.accounting.remembered_loss import memory_set

        memory_set(CachedLosses())
