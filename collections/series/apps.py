from django.apps import AppConfig


class SeriesConfig(AppConfig):
    name = "series"
    verbose_name = "Series of recipes"

    def ready(self) -> None:
        from series.in_order import document_of
        from trust_models.of_rounds import rounds_declare

        rounds_declare(document_of)
