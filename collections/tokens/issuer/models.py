"""What an issuer keeps of a recipe: its keys until it ends, and handles by which each token counts once.

No blinded message, no element, no address and no time of a request. Handles do not reveal which device got
them.
"""

from datetime import datetime

from django.db import models

from partners.issuer_calls import HANDLE_BYTES
from partners.recipe_document import closing_time
from partners.request_ids import REQUEST_BYTES
from storage.device_rows import DeviceRow


class Issuance(models.Model):
    """A token key, and the recipe that it is for once one is published with it. Of an ended one nothing is
    left but this row: no key, no handle."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting for its recipe"
        ISSUING = "issuing", "Issuing"
        ENDED = "ended", "Ended"

    request = models.BinaryField(max_length=REQUEST_BYTES, unique=True, help_text="Chosen by the site.")
    token_key = models.BinaryField(help_text="Public key, as in a recipe: SubjectPublicKeyInfo (RFC 9578).")
    sealed = models.BinaryField(null=True, help_text="Secret keys, sealed; NULL once erased.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField()
    identifier = models.CharField(  # noqa: DJ001  # unique, and several wait for theirs
        max_length=64, null=True, unique=True, help_text="SHA-256 of the recipe's document."
    )
    document = models.TextField(blank=True, help_text="Canonical JSON (RFC 8785) of the recipe.")
    issued = models.PositiveBigIntegerField(null=True, help_text="Tokens; known once ended.")
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=200, blank=True, help_text="Why it ended.")

    def __str__(self) -> str:
        return f"tokens of {self.identifier[:12] if self.identifier else 'no recipe yet'}"

    @property
    def ends_at(self) -> datetime:
        """When tokens of its recipe are issued no more: when it closes."""
        return closing_time(self.document, self.created_at)


class Handle(DeviceRow):
    """That a blinded message was signed: the reason why a token counts once."""

    issuance = models.ForeignKey(Issuance, models.PROTECT, related_name="+")
    handle = models.BinaryField(max_length=HANDLE_BYTES, unique=True, help_text="As the attester knows it.")
    withheld = models.BooleanField(default=False, help_text="The attester kept the answer.")

    def __str__(self) -> str:
        return f"token {bytes(self.handle).hex()[:12]}"
