"""What the wiring does once every app is loaded."""

import gc
import importlib

from django.apps import AppConfig


class PanappConfig(AppConfig):
    name = "panapp"

    def ready(self) -> None:
        # Tasks belong to the application that was made last: from here on it is ours.
        importlib.import_module("panapp.celery")
        # What is loaded until here is not gone through again, nor copied in processes that are forked.
        gc.freeze()
        gc.enable()
