from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "results"
    label = "releases"  # of its tables and of addresses of the admin site

    def ready(self) -> None:
        from publishing.targeting import results_declare
        from results.selectors import signed_result

        results_declare(signed_result)
