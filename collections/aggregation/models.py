"""Chunks of work, and the sub-aggregates that come of them."""

import secrets
import uuid

from django.db import models

from recipes.models import Recipe


class Chunk(models.Model):
    """Stored reports that one task takes in. The row exists until their sub-aggregate does.

    A task that finds no row has nothing to do: that is what makes a task that is
    delivered twice, or late, harmless.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+")
    count = models.PositiveIntegerField()
    seed = models.BinaryField(
        max_length=32,
        default=secrets.token_bytes,
        help_text="Of the values that stand in for invalid ones: every attempt at the chunk gives one sum.",
    )
    attempts = models.PositiveIntegerField(default=0)
    send_after = models.DateTimeField(
        null=True, help_text="When to send its task again; empty before it is sent."
    )

    class Meta:
        indexes = (models.Index(fields=("send_after",)),)

    def __str__(self) -> str:
        return f"chunk of {self.count} reports"


class SubAggregate(models.Model):
    """The sum over the reports of a recipe so far. Deleted when the result is released or withheld.

    One row per recipe, to which every chunk is added: a sum over a few reports, as the last
    chunk may be, never stands in the database by itself.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    reports = models.PositiveBigIntegerField(default=0, help_text="Number of reports in the sum.")
    total = models.JSONField(help_text="The sum of their contributions: a list of integers.")

    def __str__(self) -> str:
        return f"sum of {self.reports} reports"
