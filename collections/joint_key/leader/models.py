"""How far the leader is with the sum of each recipe."""

from django.db import models

from recipes.models import Recipe


class JointSum(models.Model):
    """The sum of one closed recipe on its way to its count. Stays with the bundle once there is a result.

    `send_after` is also a lease: who takes the row up moves it on, so that no other worker asks for the same
    at the same time. Should two do so all the same, nothing breaks.
    """

    class State(models.TextChoices):
        SENDING = "sending", "The helper checks the list"
        LISTED = "listed", "Both signed the list"
        COUNTED = "counted", "Decrypted"
        REFUSED = "refused", "Refused"

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.SENDING)
    reports = models.PositiveBigIntegerField(default=0, help_text="That the helper has checked.")
    last_nonce = models.BinaryField(max_length=16, default=b"", help_text="Of the last part that it checked.")
    digests = models.BinaryField(default=b"", help_text="Of its parts, 32 bytes each.")
    total = models.BinaryField(max_length=96, default=b"", help_text="Of their ciphertexts; empty of none.")
    list = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the list, once both signed it.")
    helper_signature = models.BinaryField(max_length=64, null=True, help_text="Of the list.")
    leader_part = models.BinaryField(max_length=112, null=True, help_text="Of the decryption.")
    helper_part = models.BinaryField(max_length=112, null=True)
    count = models.PositiveBigIntegerField(null=True, help_text="Of ones among the reports.")
    refusal = models.CharField(max_length=300, blank=True, help_text="Why there is no count: a clause.")
    deletion_reason = models.CharField(
        max_length=200, blank=True, help_text="Why the helper is to delete its key; empty while it is not."
    )
    is_deleted_there = models.BooleanField(default=False, help_text="It has acknowledged that it did.")
    send_after = models.DateTimeField(db_index=True)
    attempts = models.PositiveIntegerField(default=0, help_text="That failed, one after the other.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"joint sum of recipe {self.recipe_id}"
