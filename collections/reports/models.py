"""What devices sent and no worker has taken in yet.

No address, user agent or time of arrival is kept here, and nothing at all once a report is part of a
sub-aggregate. A store of objects knows when each was written (docs/threat-model.md).
"""

import secrets

from django.db import models

from recipes.models import Recipe


class ReportNonce(models.Model):
    """A nonce that has been accepted: the reason why a report counts once.

    Kept until the recipe's result is released or withheld.
    """

    pk = models.CompositePrimaryKey("recipe_id", "nonce")
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+", db_index=False)
    nonce = models.BinaryField(max_length=16)

    def __str__(self) -> str:
        return f"nonce of {self.recipe_id}"


class CiphertextDigest(models.Model):
    """A keyed hash of an accepted report's ciphertexts: the reason why they come in no other.

    Kept as long as the nonces.
    """

    pk = models.CompositePrimaryKey("recipe_id", "digest")
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+", db_index=False)
    digest = models.BinaryField(max_length=16)

    def __str__(self) -> str:
        return f"digest of {self.recipe_id}"


class StoredReports(models.Model):
    """Reports that arrived together: their ciphertexts, one report after the other.

    Every ciphertext of a recipe has the same length, so `payload` needs no separators.
    `chunk` names the chunk of work that will take these reports in, once one is planned.
    """

    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+")
    chunk = models.UUIDField(null=True, db_index=True)
    count = models.PositiveIntegerField()
    payload = models.BinaryField()

    class Meta:
        indexes = (models.Index(fields=("recipe", "chunk")),)

    def __str__(self) -> str:
        return f"{self.count} reports of {self.recipe_id}"


class AcceptedReport(models.Model):
    """A report with a joint key whose token and proof hold: one of those that are published with the result.

    Deleted if there is no result.
    """

    pk = models.CompositePrimaryKey("recipe_id", "nonce")
    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+", db_index=False)
    nonce = models.BinaryField(max_length=16)
    record = models.BinaryField(help_text="Token, and encrypted bit with its proof.")

    def __str__(self) -> str:
        return f"accepted report of {self.recipe_id}"


class RejectionCount(models.Model):
    """How many reports of a recipe were rejected on arrival for one reason."""

    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="rejections")
    reason = models.CharField(max_length=40)
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("recipe", "reason"), name="one_count_per_reason"),)

    def __str__(self) -> str:
        return f"{self.reason}: {self.count}"


class SegmentedRecipe(models.Model):
    """Marks that a recipe's reports are in the object store: decided for good when it is published.

    Stays after the result is out, until everything is deleted from the store.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    store = models.CharField(max_length=300, help_text="Address of the store.")
    key = models.BinaryField(
        max_length=32,
        default=secrets.token_bytes,
        help_text="Of the hashes that say what counts once; so no device can choose its report's shard.",
    )
    shards = models.PositiveIntegerField(null=True, help_text="Into how many its reports are sorted.")
    manifest = models.BinaryField(
        max_length=32, null=True, help_text="SHA-256 of the manifest, once it is sealed."
    )
    lost = models.CharField(
        max_length=200, blank=True, default="", help_text="What was changed or is gone, as a clause."
    )
    ended_at = models.DateTimeField(null=True, db_index=True)

    def __str__(self) -> str:
        return f"segments of {self.recipe_id}"


class ReportSegment(models.Model):
    """One object with reports that were stored together. They count because this row is committed.

    `chunk` names the chunk of work that will sort them into a larger object, once one is planned.
    """

    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="+", db_index=False)
    chunk = models.UUIDField(null=True)
    name = models.UUIDField(help_text="Of the object, below the recipe's.")
    sha256 = models.BinaryField(max_length=32)
    count = models.PositiveIntegerField()

    class Meta:
        indexes = (models.Index(fields=("recipe", "chunk", "id"), name="segments_of_chunk"),)

    def __str__(self) -> str:
        return f"{self.count} reports of {self.recipe_id} in the store"


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
