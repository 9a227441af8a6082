"""Dashboards."""

import secrets

from django.conf import settings
from django.db import models

TITLE_LENGTH = 120


def drawn_identifier() -> str:
    """A fresh one, which cannot be guessed."""
    return secrets.token_hex(8)


class Dashboard(models.Model):
    """A page of cards, in their order."""

    identifier = models.CharField(
        max_length=16, unique=True, default=drawn_identifier, help_text="Random, in hexadecimal digits."
    )
    title = models.CharField(max_length=TITLE_LENGTH)
    public = models.BooleanField(default=False, help_text="Whether everyone may read it.")
    cards = models.JSONField(default=list, help_text="As `content.checked_cards` returns them.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.title

    @property
    def subject(self) -> str:
        """What the log calls it."""
        return f"dashboard {self.identifier}"

    @property
    def version(self) -> str:
        """Of its content: it changes with every change."""
        return self.changed_at.isoformat()
