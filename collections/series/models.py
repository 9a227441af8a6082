"""Series, their rounds, and what people noted beside them."""

from django.conf import settings
from django.db import models

from panprivacy.series import SeriesDraft
from recipes.models import Recipe

REASON_LENGTH = 300
NOTE_LENGTH = 120


class Series(models.Model):
    """A recipe repeated by the clock, under one reserved budget. Stopping is all that changes it."""

    identifier = models.CharField(max_length=16, unique=True, help_text="Random, in hexadecimal digits.")
    name = models.CharField(max_length=120)
    draft = models.JSONField(help_text="As in a recipe file, with `every`, and `rounds` or `until`.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, help_text="When its remaining rounds were given up.")

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "series"

    def __str__(self) -> str:
        return self.name

    @property
    def parsed(self) -> SeriesDraft:
        return SeriesDraft.from_mapping(self.draft)

    def reservation(self, number: int) -> str:
        """The name under which the cost of a round is reserved in the population's book."""
        return f"series {self.identifier} round {number}"


class Round(models.Model):
    """One asking: planned, then a recipe or a gap."""

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        PUBLISHED = "published", "Published"
        SKIPPED = "skipped", "Skipped"

    series = models.ForeignKey(Series, models.PROTECT, related_name="rounds")
    number = models.PositiveIntegerField(help_text="From 1.")
    opens_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    recipe = models.OneToOneField(Recipe, models.PROTECT, null=True, related_name="round")
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, help_text="Why it was skipped.")
    failures = models.PositiveIntegerField(default=0, help_text="How often publishing it failed.")
    problem = models.CharField(max_length=REASON_LENGTH, blank=True, help_text="Why it failed last.")
    retry_at = models.DateTimeField(
        null=True, help_text="When it is tried again; null where it never failed."
    )

    class Meta:
        ordering = ("series", "number")
        indexes = (models.Index(fields=("state", "opens_at")),)
        constraints = (
            models.UniqueConstraint(fields=("series", "number"), name="round_number_once"),
            models.CheckConstraint(
                name="round_published_has_recipe",
                condition=models.Q(state="published", recipe__isnull=False)
                | (~models.Q(state="published") & models.Q(recipe=None)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.series}, round {self.number}"


class Mark(models.Model):
    """A note at a time, shown beside the trend, e.g. that a version was released."""

    series = models.ForeignKey(Series, models.PROTECT, related_name="marks")
    at = models.DateTimeField()
    note = models.CharField(max_length=NOTE_LENGTH)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return self.note
