from django.apps import AppConfig


class SecondFactorConfig(AppConfig):
    name = "accounts.second_factor"
