from django.apps import AppConfig


class OidcConfig(AppConfig):
    name = "accounts.oidc"

    def ready(self) -> None:
        # Models exist only once all apps are loaded.
        from accounts.oidc.operations import passwords_guard

        passwords_guard()
