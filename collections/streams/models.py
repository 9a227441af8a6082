"""What a curator keeps of streams: sealed states or estimates, which batches are in them, and the intrusions.

Nothing here reveals which items came, how many or when. The nonces do reveal how many *batches* came.
"""

import uuid

from django.db import models

from panprivacy.recipe.document import PublishedRecipe, recipe_of


class Stream(models.Model):
    """The stream of one recipe, until its result is released or withheld.

    The state is sealed under a key of its own for every version; the key is not in the database
    (storage/key_slots.py). The last version is the estimate, which takes the state's place once it is drawn.
    `id` is random, so that no two streams ever share a file of keys.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    identifier = models.CharField(max_length=64, unique=True, help_text="Of the recipe.")
    document = models.TextField(help_text="The recipe's, as published.")
    is_open = models.BooleanField(default=True)
    version = models.PositiveBigIntegerField(default=1, help_text="Grows with every change of the state.")
    state = models.BinaryField(help_text="Sealed; keys of earlier versions are erased. Empty once estimated.")
    estimate = models.BinaryField(null=True, help_text="Sealed; none before it is drawn.")

    def __str__(self) -> str:
        return f"stream of {self.identifier}"

    @property
    def published(self) -> PublishedRecipe:
        """The recipe as published, parsed (cached: it never changes)."""
        return recipe_of(self.document)


class StreamSample(models.Model):
    """Which items have a cell: hashes, never the items. It does not change with the stream.

    Sealed until the stream ends: the hash's own key is in it, and with that an intruder could compute for any
    item whether it has a cell, and which.
    """

    stream = models.OneToOneField(Stream, models.CASCADE, primary_key=True, related_name="sample")
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return f"sample of {self.stream_id}"


class ItemBatch(models.Model):
    """The nonce of a batch that is in the state: the reason why a batch counts once."""

    pk = models.CompositePrimaryKey("stream_id", "nonce")
    stream = models.ForeignKey(Stream, models.CASCADE, related_name="+", db_index=False)
    nonce = models.BinaryField(max_length=16)

    def __str__(self) -> str:
        return f"batch of {self.stream_id}"


class EndedStream(models.Model):
    """A deleted stream whose keys may still exist: a crash may happen in between."""

    id = models.UUIDField(primary_key=True, editable=False)

    def __str__(self) -> str:
        return f"end of {self.id}"


class AnnouncedIntrusion(models.Model):
    """That the state was read on purpose. Kept when the stream is deleted, because it was seen.

    The database refuses to change or delete it: the guarantee counts them.
    """

    identifier = models.CharField(max_length=64, help_text="Of the recipe.")
    number = models.PositiveIntegerField(help_text="1, 2, … within the recipe.")
    at = models.DateTimeField()

    class Meta:
        ordering = ("number",)
        # Not unique: on SQLite, REPLACE would push a row aside that has the same pair. The lock on the
        # stream, under which they are numbered, keeps them apart.
        indexes = (models.Index(fields=("identifier", "number")),)

    def __str__(self) -> str:
        return f"intrusion {self.number} of {self.identifier}"


class SeenState(models.Model):
    """What was seen at an announced intrusion.

    Stored once the state is randomized anew and the intrusion counted, in a transaction of its own: a
    database keeps rows of transactions that never were, and this one is not sealed. A crash in between
    loses what was seen, and nothing else.
    """

    intrusion = models.OneToOneField(
        AnnouncedIntrusion, models.PROTECT, primary_key=True, related_name="seen"
    )
    state = models.BinaryField(help_text="As it was read, before it was randomized anew.")

    def __str__(self) -> str:
        return f"seen at {self.intrusion_id}"
