from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        # Models exist only once all apps are loaded.
        from accounts.names import names_guard

        names_guard()
