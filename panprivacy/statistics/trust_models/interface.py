"""The interface of trust models: a recipe's servers, their keys, and the assumptions of its guarantees."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES
from panprivacy.encryption.interface import PublicKey
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic

S = TypeVar("S", bound=Statistic[Any])


class Servers(ABC):
    """A trust model: the holders of a recipe's private keys, and what follows for its document, its
    guarantees and its reports. A published document names the servers, in fields of their own.

    A trust model gives its class-level properties in its class statement, where the type checker finds
    missing ones: `class OneServer(Servers, trust=…, member_names=…, device_inputs=…)`.
    """

    trust: ClassVar[Trust]

    member_names: ClassVar[tuple[str, ...]]
    """The document's fields that describe the servers."""

    device_inputs: ClassVar[tuple[DeviceInput, ...]]
    """The input types that may be sent under it."""

    proves_reports: ClassVar[bool] = False
    """Whether reports come with a proof that each value is 0 or 1, because the servers cannot see the
    values."""

    lists: ClassVar[tuple[str, ...]] = ()
    """Fields of a recipe file that name other files; commands first take them out, then read the rest."""

    takes_reports: ClassVar[bool] = True
    """Whether devices report. Only then does a recipe have an admission and a transport."""

    reports_elsewhere: ClassVar[tuple[str, str]] = ("", "")
    """Kind and title of the problem that answers a report sent to the publishing site, if it belongs
    elsewhere."""

    def __init_subclass__(
        cls, *, trust: Trust, member_names: tuple[str, ...], device_inputs: tuple[DeviceInput, ...]
    ) -> None:
        super().__init_subclass__()
        cls.trust, cls.member_names, cls.device_inputs = trust, member_names, device_inputs

    @classmethod
    def refusal(cls, statistic: type[Statistic[Any]]) -> str:
        """Why the statistic cannot be asked under this trust model, as a clause; empty if it can."""
        if statistic.device_input not in cls.device_inputs:
            return "its devices do not have the input that this statistic takes"
        if cls.proves_reports and not statistic.provable:
            return "servers that cannot read reports cannot check those of this statistic"
        if statistic.needs_proof and not cls.proves_reports:
            return "this statistic needs two servers, which check reports unread"
        return ""

    @classmethod
    def admits(cls, statistic: type[Statistic[Any]]) -> bool:
        """Whether the statistic can be asked under this trust model."""
        return not cls.refusal(statistic)

    @classmethod
    def encrypts(cls, statistic: type[Statistic[Any]]) -> bool:  # noqa: ARG003  # for those that override it
        """Whether devices encrypt their input to a key of the recipe."""
        return True

    @classmethod
    def asked(cls, statistic: S) -> S:
        """The statistic under this trust model: with noise in the number of reports if its servers add
        any."""
        return statistic

    @classmethod
    def stated(cls, guarantee: Guarantee) -> Guarantee:
        """A statistic's guarantee as a recipe of this trust model states it. No number changes: only the
        adversary and the assumptions."""
        return replace(guarantee, trust=cls.trust)

    @classmethod
    @abstractmethod
    def body_bytes(cls, statistic: Statistic[Any], scheme: str | None) -> int:
        """Approximate size in bytes of the longest request body with one report, without names and token.

        Args:
            statistic: calibrated, admitted under this trust model.
            scheme: registered name of the encryption scheme; None if nothing is encrypted.
        """

    @classmethod
    def kept_bytes(cls, scheme: str) -> int:
        """Bytes of one encrypted value on a device, under the encryption scheme of that name."""
        return SCHEMES[scheme].public_key_class.ciphertext_bytes

    @classmethod
    def release_probability(cls, cohort_size: int, population_size: int, reporting_rate: float) -> float:
        """The probability that there is a result, exact except for rounding.

        Args:
            cohort_size: at least 1.
            population_size: devices, each sends a valid report by its own coin.
            reporting_rate: with this probability, from 0 to 1.
        """
        # Imported here, because devices do not need it.
        from panprivacy.accounting import binomial

        return float(binomial.upper_tail(cohort_size, population_size, reporting_rate, 1 - reporting_rate))

    @classmethod
    def surely_enough(cls, cohort_size: int) -> int:
        """The fewest valid reports with which there surely is a result."""
        return cohort_size

    def where_reports_go(self, identifier: str) -> str:  # noqa: ARG002  # most are sent to the site itself
        """The address to which devices of the recipe `identifier` send reports, as a sentence, if not to the
        publishing site's own API; else empty."""
        return ""

    def where_items_go(self) -> str:
        """Why the publishing site takes no items of a stream, as a sentence; empty if it does."""
        return "Its devices send reports, to …/reports/ or where its document says."

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        """Addresses of the servers that check a report's token, if the document names them, in its order.
        Tokens are bound to them."""
        return ()

    @property
    @abstractmethod
    def scheme(self) -> str | None:
        """The registered name of the encryption scheme; None if nothing is encrypted."""

    @abstractmethod
    def public_key(self, identifier: str) -> PublicKey:
        """The key under which devices of the recipe `identifier` encrypt; ValueError if there is none."""

    @abstractmethod
    def members(self) -> dict[str, Any]:
        """The document's fields, as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        """Inverse of `members`, strict.

        Raises:
            FieldError: a missing, unknown or impossible field.
            InvalidKeyError: a public key that this version cannot use.
        """

    @abstractmethod
    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Check the signatures of all servers but the publishing one.

        Args:
            message: the signed bytes.
            partner_key: verification key of the partner server, which the device pinned; None without a
                partner.
            partner_signature: its signature, 64 bytes, or None.

        Raises:
            RecipeVerificationError: a required signature is missing or does not hold.
        """
