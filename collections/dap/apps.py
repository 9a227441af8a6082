from django.apps import AppConfig


class DapConfig(AppConfig):
    name = "dap"
    verbose_name = "Distributed aggregation (DAP)"
