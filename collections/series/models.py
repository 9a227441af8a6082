"""Series, their rounds, and the notes on them."""

import json
import secrets
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models

from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.series import repetition_of
from recipes.models import Recipe, name_beyond

REASON_LENGTH = 300
NOTE_LENGTH = 120


class Series(models.Model):
    """A recipe repeated, by the clock or one round after the other, under one reserved budget. Stopping is
    all that changes it."""

    identifier = models.CharField(max_length=16, unique=True, help_text="Random, in hexadecimal digits.")
    name = models.CharField(max_length=120)
    draft = models.JSONField(help_text="As in the file of a series, or of a recipe in rounds.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, help_text="When its remaining rounds were given up.")
    simulation = models.BooleanField(default=False, help_text="Reports come from simulated devices.")
    private = models.BooleanField(default=False, help_text="Only analysts see it, as all of its rounds.")

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "series"
        constraints = (
            models.CheckConstraint(
                name="series_private_is_simulated",
                condition=models.Q(private=False) | models.Q(simulation=True),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def drawn_identifier() -> str:
        """A fresh one."""
        return secrets.token_hex(8)

    @property
    def short_name(self) -> str:
        """What the name says beyond the question; empty if it only repeats it."""
        return name_beyond(self.name, self.draft.get("question", ""))

    @property
    def parsed(self) -> Repetition:
        return repetition_of(self.draft)

    @property
    def subject(self) -> str:
        """What the log calls it."""
        return f"series {self.identifier}"

    def reservation(self, number: int) -> str:
        """The name under which the cost of a round is reserved in the population's book."""
        return f"{self.subject} round {number}"

    @property
    def reservation_of_all(self) -> str:
        """The same of all rounds together, if they are one line."""
        return f"{self.subject} all rounds"


class RoundsDocument(models.Model):
    """The signed document of a recipe in rounds: made before the first of them, and never changed."""

    series = models.OneToOneField(Series, models.PROTECT, related_name="rounds_document")
    identifier = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the document.")
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    signature = models.BinaryField(max_length=64)
    rounds = models.PositiveIntegerField(help_text="How many there are at most.")
    public_input = models.BooleanField(help_text="Whether each round waits for its public input.")
    simulation = models.BooleanField(help_text="Reports come from simulated devices.")

    def __str__(self) -> str:
        return f"document of {self.series}"

    @property
    def stated(self) -> dict[str, Any]:
        """The fields of the document as they were signed: which is also available if this version cannot read
        it.
        """
        stated: dict[str, Any] = json.loads(self.document)
        return stated

    @property
    def once(self) -> bool:
        """Whether a device gives in one round at most."""
        return "donation_rounds" in self.stated

    @property
    def draft(self) -> RoundsDraft:
        """What the analyst decided."""
        return RoundsDraft.from_mapping(self.series.draft)


class PublicInput(models.Model):
    """The signed public input of one round. Never changed: devices may have it."""

    series = models.ForeignKey(Series, models.PROTECT, related_name="inputs")
    number = models.PositiveIntegerField(help_text="Of the round.")
    identifier = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the document.")
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    signature = models.BinaryField(max_length=64)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("series", "number"), name="input_of_round_once"),)

    def __str__(self) -> str:
        return f"input of {self.series}, round {self.number}"

    @property
    def stated(self) -> dict[str, Any]:
        """The fields of the document as they were signed."""
        stated: dict[str, Any] = json.loads(self.document)
        return stated


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
    retry_at = models.DateTimeField(null=True, help_text="When it is tried again; null if it never failed.")

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

    @property
    def last_problem(self) -> str | None:
        """Why it could not be published so far; None if nothing failed."""
        return self.problem if self.state == self.State.PLANNED and self.failures else None

    @property
    def tried_again_at(self) -> datetime | None:
        """When that is tried again."""
        return self.retry_at if self.state == self.State.PLANNED else None


class Mark(models.Model):
    """A note at a time, shown with the trend, e.g. that a version was released."""

    series = models.ForeignKey(Series, models.PROTECT, related_name="marks")
    at = models.DateTimeField()
    note = models.CharField(max_length=NOTE_LENGTH)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return self.note
