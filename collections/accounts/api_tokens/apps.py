from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class ApiTokensConfig(AppConfig):
    name = "accounts.api_tokens"
    verbose_name = "API tokens"

    def ready(self) -> None:
        autodiscover_modules("scopes")
