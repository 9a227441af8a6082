from django.apps import AppConfig


class SeriesConfig(AppConfig):
    name = "series"
    verbose_name = "Series of recipes"

    def ready(self) -> None:
        from publishing.of_rounds import rounds_declare
        from series.in_order import document_of

        rounds_declare(document_of)
