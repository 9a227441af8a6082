from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"

    def ready(self) -> None:
        from storage import role_check, upgrades  # noqa: F401  # register system checks
