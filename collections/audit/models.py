"""The audit log: append-only, hash-chained."""

from django.db import models

GENESIS = "0" * 64
"""Stands for the hash before the first entry."""


class Action(models.TextChoices):
    """What an entry tells of."""

    RECIPE_PUBLISHED = "recipe_published", "Recipe published"
    RECIPE_CLOSED = "recipe_closed", "Recipe closed"
    POPULATION_CREATED = "population_created", "Population created"
    POPULATION_CHANGED = "population_changed", "Population or its budget changed"
    RESULT_RELEASED = "result_released", "Result released"
    RESULT_WITHHELD = "result_withheld", "Result withheld"
    INTRUSION_ANNOUNCED = "intrusion_announced", "Intrusion announced: the state was read"
    TASK_REGISTERED = "task_registered", "Two-server task registered"
    SHARE_RELEASED = "share_released", "Aggregate share released"
    TASK_ENDED = "task_ended", "Two-server task ended"
    BATCH_REGISTERED = "batch_registered", "Shuffled collection registered"
    BATCH_SHUFFLED = "batch_shuffled", "Full batch shuffled and handed on"
    BATCH_ENDED = "batch_ended", "Batch deleted"
    SIGN_IN_FAILED = "sign_in_failed", "Sign-in failed"
    SIGN_IN_LOCKED = "sign_in_locked", "Sign-in locked after repeated failures"
    PERMISSION_CHANGED = "permission_changed", "Permission changed"
    ACCOUNT_CHANGED = "account_changed", "Account created, changed or deleted"
    ACCESS_DENIED = "access_denied", "Access denied"


PUBLIC_ACTIONS = (
    Action.RECIPE_PUBLISHED,
    Action.RECIPE_CLOSED,
    Action.RESULT_RELEASED,
    Action.RESULT_WITHHELD,
    Action.INTRUSION_ANNOUNCED,
    Action.TASK_REGISTERED,
    Action.SHARE_RELEASED,
    Action.TASK_ENDED,
    Action.BATCH_REGISTERED,
    Action.BATCH_SHUFFLED,
    Action.BATCH_ENDED,
)
"""Actions that the public log of a recipe shows, without who did them."""


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
    action = models.CharField(max_length=40, choices=Action)
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


class Head(models.Model):
    """The end of the chain: one row, locked while an entry is appended."""

    index = models.BigIntegerField()
    entry_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.index} {self.entry_hash}"
