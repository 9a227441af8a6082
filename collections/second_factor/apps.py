from django.apps import AppConfig


class SecondFactorConfig(AppConfig):
    name = "second_factor"
