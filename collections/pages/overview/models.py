"""When accounts see the home page."""

from django.conf import settings
from django.db import models


class Visit(models.Model):
    """The latest visit of an account. It decides what is new on the home page, and nothing else."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    seen_at = models.DateTimeField(help_text="Of the page, last.")
    new_since = models.DateTimeField(help_text="End of the previous visit.")

    def __str__(self) -> str:
        return f"visit of {self.user_id}"
