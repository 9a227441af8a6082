"""Chunks of work, and their sub-aggregates."""

import secrets
import uuid
from typing import Self

from django.db import models

from recipes.models import Recipe
from reports.store import Step, Work


class Chunk(models.Model):
    """Stored reports that one task takes one step on. The row exists until that is done.

    A task that finds no row has nothing to do: that is what makes a task that is
    delivered twice, or late, harmless.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+")
    count = models.PositiveBigIntegerField()
    step = models.CharField(max_length=5, choices=Step, default=Step.SUM)
    shard = models.PositiveIntegerField(null=True, help_text="Which one; of that step only.")
    seed = models.BinaryField(
        max_length=32,
        default=secrets.token_bytes,
        help_text="Of the values that replace invalid ones: every attempt at the chunk gives one sum.",
    )
    attempts = models.PositiveIntegerField(default=0)
    send_after = models.DateTimeField(
        null=True, help_text="When to send its task again; empty before it is sent."
    )

    class Meta:
        indexes = (models.Index(fields=("send_after",)),)
        constraints = (
            # Null, as in most chunks, is not subject to uniqueness.
            models.UniqueConstraint(fields=("recipe", "shard"), name="one_chunk_per_shard"),
        )

    def __str__(self) -> str:
        return f"chunk of {self.count} reports"

    @classmethod
    def of(cls, recipe: Recipe, work: Work) -> Self:
        """The row of a piece of work that was just planned."""
        return cls(id=work.id, recipe=recipe, count=work.count, step=work.step, shard=work.shard)

    @property
    def work(self) -> Work:
        """What the store of the recipe's reports is to do."""
        return Work(Step(self.step), self.count, self.shard, self.id, bytes(self.seed))


class SubAggregate(models.Model):
    """The sum over the reports of a recipe so far. Deleted when the result is released or withheld.

    One row per recipe, to which every chunk is added: a sum over a few reports, such as the last chunk's, is
    never in the database by itself.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    reports = models.PositiveBigIntegerField(default=0, help_text="Number of reports in the sum.")
    total = models.JSONField(help_text="The sum of their contributions: a list of integers.")

    def __str__(self) -> str:
        return f"sum of {self.reports} reports"
