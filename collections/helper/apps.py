from django.apps import AppConfig


class HelperConfig(AppConfig):
    name = "helper"
    verbose_name = "Helper"
