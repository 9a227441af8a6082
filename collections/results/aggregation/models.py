"""Chunks of work, and their sub-aggregates."""

import secrets
import uuid

from django.db import models

from recipes.models import Recipe


class Chunk(models.Model):
    """Stored reports that one task takes one step on. The row exists until that is done.

    A task that finds no row has nothing to do: that is what makes a task that is
    delivered twice, or late, harmless.
    """

    class Step(models.TextChoices):
        SUM = "sum", "Add up rows of reports"
        SORT = "sort", "Sort segments into one"
        SEAL = "seal", "Seal the manifest of sorted segments"
        SHARD = "shard", "Add up one shard"

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


class SortedReports(models.Model):
    """One object with the sorted reports of many segments, of a recipe that is closed."""

    id = models.UUIDField(primary_key=True, help_text="That of the chunk; also the object's name.")
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+", db_index=False)
    first = models.PositiveBigIntegerField(help_text="Key of its first segment, by which they are in order.")
    count = models.PositiveBigIntegerField()
    index_sha256 = models.BinaryField(max_length=32, help_text="Of the index at its end.")
    sources_sha256 = models.BinaryField(max_length=32, help_text="Of the segments' hashes, in their order.")
    planned = models.BooleanField(default=False, help_text="Whether the manifest is being sealed, or is.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("recipe", "first"), name="sorted_once"),)

    def __str__(self) -> str:
        return f"{self.count} sorted reports of {self.recipe_id}"
