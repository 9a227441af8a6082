from django.apps import AppConfig


class PanappConfig(AppConfig):
    name = "panapp"
    verbose_name = "Commands"
