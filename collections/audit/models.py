"""The audit log: append-only. `public_log` keeps a tree over its hashes that everybody can check."""

from django.db import models

from audit.registry import action_choices, action_title


class Entry(models.Model):
    """One line of the log. The database refuses to change or delete it.

    `entry_hash` is the SHA-256 of the canonical JSON of all other columns that are not empty. It stands in
    the public log, whose tree tells whether anything was changed.

    Everybody sees hashes, few see actors. `salt` keeps a hash from confirming a guess at the actor, or at
    details: show it to nobody who may not see the actor.
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
    previous_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="Hash of the entry before, in entries from before there was a tree; empty since.",
    )
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
    """The number of entries: one row, locked while one is appended. So there are no gaps, and no entry can be
    seen before all that precede it."""

    index = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.index)
