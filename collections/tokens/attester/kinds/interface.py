"""What each attestation method does: it identifies the device that asks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpRequest

from web.problems import Problem, not_found


class Attestation(ABC):
    """One attestation method; an installation chooses one.

    Attributes:
        name: as in PANAPP_ATTESTATION.
        title: what it is, in words.
        takes_codes: whether a device enrols with a one-time code.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    takes_codes: ClassVar[bool] = False

    @abstractmethod
    def identify(self, request: HttpRequest, body: bytes) -> bytes:
        """The pseudonym of the device that asks, 32 bytes: one and the same as long as it is the device.

        Args:
            body: the capsule.

        Raises:
            Problem: `not-attested`: nothing shows which device it is (401), or what does is refused (403).
        """

    def enrol(self, code: str, members: Mapping[str, Any]) -> None:
        """Enrol the device that has this one-time code.

        Args:
            members: what the device sent besides the code.

        Raises:
            Problem: this kind has no such thing, the code is refused, or a field is not what it must be.
        """
        raise not_found("Devices do not enrol here.")

    def nonce(self) -> str:
        """A fresh nonce for what the device must sign. Raises Problem if this kind needs none."""
        raise not_found("This attester gives no nonces.")

    def pseudonym_of(self, name: str) -> bytes | None:
        """Of a device that is revoked by its name, if no list has names; else None."""
        return None


def unattested(detail: str) -> Problem:
    """Nothing in the request shows which device it is."""
    return Problem("not-attested", "It is not known which device asks", 401, detail)


def refused() -> Problem:
    """What is shown does not hold, or is of no device that is known: which of the two, no answer reveals."""
    detail = "The device is not known here, was revoked, or did not sign this request."
    return Problem("not-attested", "The device is refused", 403, detail)
