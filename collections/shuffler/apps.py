from django.apps import AppConfig


class ShufflerConfig(AppConfig):
    name = "shuffler"
    verbose_name = "Shuffler"
