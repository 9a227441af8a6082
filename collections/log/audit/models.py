"""The audit log: append-only. `public_log` keeps a tree over its hashes that the public can check."""

from django.db import models

from log.audit.registry import action_choices, action_title


class Entry(models.Model):
    """One line of the log. The database refuses to change or delete it.

    `entry_hash` is the SHA-256 of the canonical JSON of all other columns. It is in the public log, whose
    tree shows whether anything was changed.

    Hashes are public, actors are not. `salt` keeps a hash from confirming a guess at the actor, or at
    details: show it only to accounts that may see the actor.
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
    salt = models.CharField(max_length=32, help_text="Random digits, a part of what is hashed.")
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
    """The number of entries: one row, locked while one is appended. So there are no gaps, and no entry is
    visible until all that precede it are."""

    index = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.index)
