from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        # Here: there are no models before.
        from accounts.names import names_guard

        names_guard()
