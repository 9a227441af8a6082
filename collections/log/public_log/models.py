"""The stored tree: leaves, tiles of hashes, and what was signed of it."""

from django.db import models


class Leaf(models.Model):
    """The public part of an audit entry. The database refuses to change or delete it."""

    position = models.BigIntegerField(primary_key=True, help_text="From 0; the entry's index less one.")
    content = models.TextField(help_text="Canonical JSON (RFC 8785).")

    class Meta:
        ordering = ("position",)
        verbose_name_plural = "leaves"

    def __str__(self) -> str:
        return f"leaf {self.position}"


class Tile(models.Model):
    """Up to 256 hashes of one level, 32 bytes each: what was there stays, more may come.

    Levels begin with 1. The hashes of leaves, level 0, are computed from these (`stored_tree`).
    """

    level = models.PositiveSmallIntegerField()
    index = models.BigIntegerField()
    hashes = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("level", "index"), name="one_tile_per_place"),)

    def __str__(self) -> str:
        return f"tile {self.level} {self.index}"


class SignedCheckpoint(models.Model):
    """A state of the tree that this installation signed: one for each size, for good."""

    size = models.BigIntegerField(primary_key=True)
    note = models.TextField(help_text="The checkpoint and the log's signature.")

    class Meta:
        ordering = ("-size",)

    def __str__(self) -> str:
        return f"checkpoint {self.size}"


class Cosignature(models.Model):
    """A witness's signature of a checkpoint of ours."""

    checkpoint = models.ForeignKey(SignedCheckpoint, models.PROTECT, related_name="cosignatures")
    witness = models.CharField(max_length=200)
    line = models.TextField(help_text="Exactly as below the checkpoint.")

    class Meta:
        ordering = ("witness",)
        constraints = (
            models.UniqueConstraint(fields=("checkpoint", "witness"), name="one_cosignature_per_witness"),
        )

    def __str__(self) -> str:
        return f"{self.witness} of {self.checkpoint_id}"


class AskedWitness(models.Model):
    """What we know of a witness: which size it saw last, and since when it does not sign."""

    DIFFERS = "it saw a log that this one does not continue"
    """Last error of a witness that refuses for that."""

    witness = models.CharField(max_length=200, primary_key=True)
    size = models.BigIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"{self.witness} at {self.size}"


class WitnessedLog(models.Model):
    """The newest state of another installation's log that this one saw as its witness: it never goes back."""

    origin = models.CharField(max_length=200, primary_key=True)
    size = models.BigIntegerField(default=0)
    note = models.TextField(blank=True, help_text="The checkpoint with its signatures, ours among them.")

    def __str__(self) -> str:
        return f"{self.origin}: {self.size}"


class Fork(models.Model):
    """Two checkpoints of one size that the same log signed: evidence, kept for good."""

    origin = models.CharField(max_length=200)
    size = models.BigIntegerField()
    known = models.TextField()
    other = models.TextField()
    found_at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"fork of {self.origin} at {self.size}"


class Tree(models.Model):
    """How far the tree has come: one row, locked while it grows.

    Attributes:
        origin: name of the log; another one only after entries were lost (`lost_states`).
        size: number of leaves.
        key: that signed the newest checkpoint, an Ed25519 verification key in base64; empty if nothing was
            signed since a version that did not note it.
    """

    origin = models.CharField(max_length=200)
    size = models.BigIntegerField(default=0)
    key = models.CharField(max_length=44, blank=True, default="")

    def __str__(self) -> str:
        return f"{self.origin}: {self.size}"


class LostState(models.Model):
    """A checkpoint of this log that a witness has and this log has not: entries were lost.

    Attributes:
        decided_at: when the operator let the log continue; nothing is signed until then.
    """

    size = models.BigIntegerField()
    witness = models.CharField(max_length=200)
    note = models.TextField()
    found_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("size", "witness"), name="one_lost_state_per_witness"),
        )

    def __str__(self) -> str:
        return f"{self.witness} at {self.size}"
