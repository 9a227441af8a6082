"""What the wiring does once every app is loaded."""

import gc

from django.apps import AppConfig


class PanappConfig(AppConfig):
    name = "panapp"

    def ready(self) -> None:
        # What is loaded until here is not gone through again, nor copied in processes that are forked.
        gc.freeze()
        gc.enable()
