from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Privacy ledger"

    def ready(self) -> None:
        from ledger.numbers import CachedNumbers
        from panprivacy.accounting.remembered import memory_set

        memory_set(CachedNumbers())
