from django.apps import AppConfig


class LeaderConfig(AppConfig):
    name = "leader"
    verbose_name = "Leader"
