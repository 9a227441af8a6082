from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "releases"

    def ready(self) -> None:
        from releases.selectors import signed_result
        from trust_models.targeting import results_declare

        results_declare(signed_result)
