"""The audit log: append-only, hash-chained."""

from django.db import models

from audit.registry import action_choices, action_title

GENESIS = "0" * 64
"""Stands for the hash before the first entry."""


class Entry(models.Model):
    """One line of the log. The database refuses to change or delete it.

    `entry_hash` is the SHA-256 of the canonical JSON of all other columns, among them the
    hash of the entry before: whoever remembers one hash can tell whether anything up to
    that entry was changed.

    Everybody sees hashes, few see actors. `salt` keeps a hash from confirming whoever guesses
    the actor, or details: show it to nobody who may not see the actor.
    """

    index = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150, blank=True, help_text="Username; empty for the system itself.")
    action = models.CharField(max_length=40, choices=action_choices)
    subject = models.CharField(
        max_length=200,
        help_text="Identifier of a recipe or task, a username, or “group” or “population” and its name.",
    )
    details = models.JSONField(default=dict)
    salt = models.CharField(
        max_length=32,
        blank=True,
        help_text="Random digits, a part of what is hashed; empty in entries from before there were any.",
    )
    previous_hash = models.CharField(max_length=64)
    entry_hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("-index",)
        verbose_name_plural = "entries"
        indexes = (models.Index(fields=("subject", "index")), models.Index(fields=("action", "index")))

    def __str__(self) -> str:
        return f"{self.index} {self.get_action_display()}"

    def get_action_display(self) -> str:
        """The action's title."""
        return action_title(self.action)


class Head(models.Model):
    """The end of the chain: one row, locked while an entry is appended."""

    index = models.BigIntegerField()
    entry_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.index} {self.entry_hash}"
