"""Chunks of work, and the sub-aggregates that come of them."""

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
    attempts = models.PositiveIntegerField(default=0)
    send_after = models.DateTimeField(help_text="When to send its task (again).")

    class Meta:
        indexes = (models.Index(fields=("send_after",)),)

    def __str__(self) -> str:
        return f"chunk of {self.count} reports"


class SubAggregate(models.Model):
    """The sum over the valid reports of a recipe so far. Deleted when the result is released or withheld.

    One row per recipe, to which every chunk is added: a sum over a few reports, as the last
    chunk may be, never stands in the database by itself.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    reports = models.PositiveBigIntegerField(default=0, help_text="Number of reports in the sum.")
    decrypted = models.PositiveBigIntegerField(
        default=0, help_text="Number of reports looked at, those found invalid included."
    )
    total = models.JSONField(help_text="The sum of their contributions: a list of integers.")

    def __str__(self) -> str:
        return f"sum of {self.reports} reports"
