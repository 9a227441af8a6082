"""What a shuffler keeps of a recipe until its batch is handed on: no address, no time, no order in a row."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models

from partners.recipe_document import closing_time
from storage.device_rows import DeviceRow


class Batch(models.Model):
    """The messages of one recipe. Of an ended one nothing is left but this row, without a count of devices
    unless all of them had come."""

    class State(models.TextChoices):
        COLLECTING = "collecting", "Collecting"
        FULL = "full", "Full"
        SHUFFLED = "shuffled", "Shuffled"
        ENDED = "ended", "Ended"

    identifier = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the recipe's document.")
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    cohort_size = models.PositiveBigIntegerField(
        help_text="The batch is full with exactly this number of users."
    )
    state = models.CharField(max_length=10, choices=State, default=State.COLLECTING)
    users = models.PositiveBigIntegerField(default=0, help_text="Whose messages were taken in.")
    messages = models.PositiveBigIntegerField(null=True, help_text="Of all users; known once shuffled.")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=200, blank=True, help_text="Why it ended.")

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"batch {self.identifier[:12]}"

    @property
    def was_full(self) -> bool:
        """Whether all users had come, be it still there or not."""
        return self.users >= self.cohort_size

    @property
    def ends_at(self) -> datetime:
        """When the shuffler ends it by itself: when it closes without being full, otherwise a fixed time
        later."""
        closes_at = closing_time(self.document, self.created_at)
        return closes_at + timedelta(seconds=settings.TASK_RETENTION_SECONDS) if self.was_full else closes_at


class SubmissionNonce(DeviceRow):
    """A nonce that was accepted: the reason why a user's messages count once. Names no row of messages."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="+", db_index=False)
    nonce = models.BinaryField(max_length=16)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("batch", "nonce"), name="one_submission_per_nonce"),)

    def __str__(self) -> str:
        return f"nonce of batch {self.batch_id}"


class Submission(DeviceRow):
    """The ciphertexts of one user, rerandomized, one after the other. Deleted when the batch is shuffled."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="+")
    payload = models.BinaryField()

    def __str__(self) -> str:
        return f"messages of batch {self.batch_id}"


class Rejection(models.Model):
    """How many bodies were refused for their token, by reason. Handed on with the batch."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="rejections", db_index=False)
    reason = models.CharField(max_length=40)
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("batch", "reason"), name="one_count_per_batch_and_reason"),
        )

    def __str__(self) -> str:
        return f"{self.reason} of batch {self.batch_id}"


class Part(models.Model):
    """A piece of a shuffled batch: ciphertexts of all users in random order, one after the other."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveIntegerField(help_text="From 0.")
    payload = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("batch", "number"), name="one_part_per_number"),)

    def __str__(self) -> str:
        return f"part {self.number} of batch {self.batch_id}"
