"""Which devices an attester knows, and what it handed out. Nothing records which device got what, or when.

No row has an address or a time; at most a day, if something is kept for a day.
"""

import secrets

from django.db import models

from partners.issuer_calls import HANDLE_BYTES
from storage.device_rows import DeviceRow

PSEUDONYM_BYTES = 32


def random_pseudonym() -> bytes:
    """A fresh one."""
    return secrets.token_bytes(PSEUDONYM_BYTES)


class Device(DeviceRow):
    """A device that the installation's kind of attestation keeps in a list."""

    pseudonym = models.BinaryField(
        max_length=32, unique=True, default=random_pseudonym, help_text="Stays the same if the key changes."
    )
    name = models.CharField(
        max_length=200, blank=True, help_text="As in the organization's own list; empty by code."
    )
    key = models.BinaryField(
        max_length=1023, unique=True, null=True, help_text="Ed25519 key, or identifier of a credential."
    )
    credential_key = models.BinaryField(null=True, help_text="COSE key of a WebAuthn credential.")
    uses = models.PositiveBigIntegerField(default=0, help_text="As an authenticator counts; most do not.")
    revoked = models.BooleanField(default=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("name",), condition=~models.Q(name=""), name="one_device_per_name"
            ),
        )

    def __str__(self) -> str:
        return f"device {self.name or self.pk}"


class EnrolmentCode(DeviceRow):
    """A one-time code. Once used it is bound to the key that it enrolled, and names no device."""

    digest = models.BinaryField(
        max_length=32, unique=True, help_text="SHA-256 of the code; once used, of code and key."
    )
    used = models.BooleanField(default=False)
    made_on = models.DateField(help_text="Unused ones are deleted after a while.")

    def __str__(self) -> str:
        return f"enrolment code {self.pk}"


class Issued(DeviceRow):
    """That some device has its token of some recipe: F_recipe(device), which reveals neither."""

    identifier = models.BinaryField(max_length=32, unique=True)
    handle = models.BinaryField(
        max_length=HANDLE_BYTES, help_text="The issuer's name of what was handed out."
    )

    def __str__(self) -> str:
        return f"issued {self.pk}"


class Handle(DeviceRow):
    """The issuer's name of one blind signature: it was handed out, or withheld, and never both."""

    handle = models.BinaryField(max_length=HANDLE_BYTES, unique=True)
    withheld = models.BooleanField()
    told = models.BooleanField(default=False, help_text="Whether the issuer knows that it was withheld.")

    class Meta:
        indexes = (
            models.Index(
                fields=("id",), condition=models.Q(withheld=True, told=False), name="handles_to_tell"
            ),
        )

    def __str__(self) -> str:
        return f"handle {self.pk}"


class Answer(DeviceRow):
    """A sealed answer, for a device that sends the same capsule again because the first answer was lost."""

    capsule = models.BinaryField(max_length=32, unique=True, help_text="SHA-256 of the request.")
    answer = models.BinaryField()
    day = models.DateField(db_index=True)

    def __str__(self) -> str:
        return f"answer {self.pk}"
