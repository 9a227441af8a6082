"""What a shuffler keeps of a recipe until its batch is handed on: no address, no time, and no order in a row.

Rows about devices have random keys. With keys that count, or with none, the tables would hold the order in
which they came. The files still do, of SQLite as of PostgreSQL, for the database puts pages and rows where it
likes: docs/operations.md says what protects the disk.
"""

import secrets

from django.db import models

KEY_BITS = 62
"""Of the random key of a row: two of a million rows share one with probability 2^-23, and the second is then
sent again."""


def random_key() -> int:
    """The key of a row that says nothing of when it was made."""
    return secrets.randbits(KEY_BITS)


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
    cohort_size = models.PositiveBigIntegerField(help_text="Exactly so many users make the batch full.")
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


class DeviceRow(models.Model):
    """A row about a device, with a random key."""

    # By a key of this type SQLite orders the rows themselves; beside any other it keeps a number that counts.
    id = models.BigAutoField(primary_key=True, default=random_key)

    class Meta:
        abstract = True


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


class Part(models.Model):
    """A piece of a shuffled batch: ciphertexts of all users in random order, one after the other."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveIntegerField(help_text="From 0.")
    payload = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("batch", "number"), name="one_part_per_number"),)

    def __str__(self) -> str:
        return f"part {self.number} of batch {self.batch_id}"
