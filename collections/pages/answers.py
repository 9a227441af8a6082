"""What workers answer about forms: importing this module declares it."""

from pages.publish import figures

__all__ = ["figures"]
