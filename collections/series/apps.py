from django.apps import AppConfig


class SeriesConfig(AppConfig):
    name = "series"
    verbose_name = "Series of recipes"

    def ready(self) -> None:
        from publishing.rounds_document import rounds_declare
        from series.rounds import document_of

        rounds_declare(document_of)
