"""Simulations, of one recipe or of a series, and the devices of each that have not reported yet."""

import uuid

from django.db import models

from recipes.models import Recipe
from series.models import Series


class Simulation(models.Model):
    """Devices that workers simulate for one recipe, and what they have done so far.

    All that is counted here changes in the transaction that deletes the counted chunk.
    """

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        """Devices report."""

        REPORTED = "reported", "Reported"
        """All have; the recipe is closed, and its result is or will be there."""

        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    workload = models.JSONField(help_text="As asked for, but without the rows of a file.")
    seed = models.TextField(help_text="Of all that the devices do: a whole number.")
    seed_given = models.BooleanField(help_text="Whether it was chosen; else it is from `secrets`.")
    at_once = models.PositiveIntegerField(
        null=True, help_text="Most chunks that workers have in hand; empty: as of recipes."
    )
    devices = models.PositiveIntegerField(help_text="0 until a worker has read their file.")
    done = models.PositiveIntegerField(default=0, help_text="Devices that have been simulated.")
    totals = models.JSONField(default=dict, help_text="What they did, as `counted.as_json`.")
    problem = models.CharField(max_length=300, blank=True, help_text="What went wrong last, as a clause.")
    started_at = models.DateTimeField()
    begun_at = models.DateTimeField(
        null=True, help_text="When workers were first sent its devices; empty while it is in line."
    )
    estimated_seconds = models.FloatField(
        default=0.0,
        help_text="Work of its devices for one process, by constants; 0 if their number is unknown.",
    )
    try_number = models.PositiveIntegerField(
        null=True, unique=True, help_text="Of a try, which browsers join: one more than the last one's."
    )
    ended_at = models.DateTimeField(null=True, help_text="When the last device had reported, or none will.")

    class Meta:
        ordering = ("-started_at",)
        indexes = (models.Index(fields=("state",)),)

    def __str__(self) -> str:
        return f"simulation of {self.recipe_id}"

    @property
    def subject(self) -> str:
        """What the log calls a private one."""
        return f"simulation {self.pk}"


class DeviceChunk(models.Model):
    """Devices that one task simulates. The row exists until they are counted.

    A task that finds no row has nothing to do, so a task may come twice, or late. A row without devices holds
    a file, as it was given: the task puts the rows of its devices in its place.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    simulation = models.ForeignKey(Simulation, models.CASCADE, related_name="chunks")
    first = models.PositiveIntegerField(help_text="Index of its first device, from 0.")
    count = models.PositiveIntegerField(help_text="0 of a file that was not read yet.")
    listed = models.BinaryField(null=True, help_text="The file, or devices of it in JSON.")
    attempts = models.PositiveIntegerField(default=0)
    send_after = models.DateTimeField(null=True, help_text="When to send its task again; empty before.")

    class Meta:
        ordering = ("first",)
        indexes = (models.Index(fields=("simulation", "send_after")),)

    def __str__(self) -> str:
        return f"{self.count} devices from {self.first}"


class SeriesSimulation(models.Model):
    """A series whose rounds are simulated one after the other, each as a simulation of its own."""

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    series = models.OneToOneField(Series, models.PROTECT, primary_key=True, related_name="simulated_by")
    draft = models.ForeignKey(
        Recipe,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="Whose review it was started from; empty if there is none.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    workload = models.JSONField(help_text="As asked for.")
    seed = models.TextField(blank=True, help_text="Of the first round, then one more each; empty: random.")
    problem = models.CharField(max_length=300, blank=True, help_text="What went wrong last, as a clause.")
    started_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Failed attempts to begin the next round.")
    retry_at = models.DateTimeField(null=True, help_text="When that is tried again; empty if none failed.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-started_at",)
        indexes = (models.Index(fields=("state",)),)

    def __str__(self) -> str:
        return f"simulation of {self.series_id}"
