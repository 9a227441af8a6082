from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Privacy ledger"

    def ready(self) -> None:
        from ledger.numbers import CachedNumbers
        from panprivacy.accounting.number_cache import cache_set

        cache_set(CachedNumbers())
