from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"

    def ready(self) -> None:
        from storage import role_check  # noqa: F401  # registers the system check
