"""The issuer of each recipe that asks for tokens, and how many tokens it issued."""

from django.db import models

from recipes.models import Recipe

REASON_LENGTH = 200


class Issuance(models.Model):
    """Issuing for one recipe, from its publication to the issuer's last word. Once the number is there, the
    database refuses to change it.

    `send_after` is also a lease: see `operations.issuances_take`.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    issuer_url = models.CharField(max_length=500, help_text="Base address: settings may name another by now.")
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, help_text="Why it ends; empty before.")
    issued = models.PositiveBigIntegerField(null=True, help_text="Tokens, once the issuer has said.")
    signature = models.BinaryField(default=bytes, help_text="The issuer's Ed25519, of the number.")
    send_after = models.DateTimeField(null=True, db_index=True)
    attempts = models.PositiveIntegerField(default=0, help_text="That failed, one after the other.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"tokens of recipe {self.recipe_id}"
