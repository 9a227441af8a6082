"""What the helper keeps: halves of keys that wait for their recipe, and how far it is with each recipe."""

from django.db import models


class WaitingKey(models.Model):
    """Our halves for a recipe that is about to be published; the key moves to the recipe with it."""

    request = models.BinaryField(max_length=16, unique=True, help_text="Chosen by the leader.")
    context = models.BinaryField(max_length=32, help_text="What the key is for.")
    key = models.BinaryField(max_length=272, help_text="Our half of the key.")
    sealed = models.BinaryField(help_text="Its secret, under the key-encryption key.")
    leader_commitment = models.BinaryField(max_length=32, help_text="To the leader's half of the key.")
    leader_key = models.BinaryField(max_length=272, default=b"", help_text="The leader's half, once it came.")
    string = models.BinaryField(max_length=416, default=b"", help_text="Our half of the common strings.")
    leader_string_commitment = models.BinaryField(max_length=32, default=b"")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"half of a joint key {bytes(self.request).hex()[:12]}"


class JointRecipe(models.Model):
    """A recipe with a joint key. We hold half of it until the recipe ends.

    What is known of the part that was checked last is kept: the next one must follow it.
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        SIGNED = "signed", "List signed"
        ENDED = "ended", "Ended"

    identifier = models.CharField(max_length=64, unique=True)
    document = models.TextField(help_text="Canonical JSON.")
    sealed = models.BinaryField(null=True, help_text="Our half of the secret key; empty once it ended.")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    digests = models.BinaryField(default=b"", help_text="Of the parts that were checked, 32 bytes each.")
    reports = models.PositiveBigIntegerField(default=0, help_text="In them.")
    last_nonce = models.BinaryField(max_length=16, default=b"")
    total = models.BinaryField(max_length=96, default=b"", help_text="Of all ciphertexts; empty of none.")
    list = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the list that we signed.")
    part = models.BinaryField(max_length=112, null=True, help_text="Our part of the decryption, once given.")
    outcome = models.CharField(max_length=200, blank=True, help_text="Why it ended.")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recipe {self.identifier[:12]}"
