"""The interface of trust models: a recipe's servers, their keys, and the assumptions of its guarantees."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES
from panprivacy.encryption.interface import PublicKey, SchemeKey
from panprivacy.formats import base64_text
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.members import require_signed_by, required_scheme


class ReportFormat:
    """The size of what devices keep and send: of ciphertexts in JSON, unless a trust model has another."""

    def body_bytes(self, statistic: Statistic[Any], scheme: str | None) -> int:
        """Approximate size in bytes of the longest request body with one report, without names and token.

        In JSON: each ciphertext in base64, with quotes, a comma and a space. If the number of a user's
        messages is random, for the largest number.

        Args:
            statistic: calibrated, admitted under the trust model.
            scheme: registered name of the encryption scheme; None if nothing is encrypted.
        """
        return statistic.most_ciphertexts * (
            base64_text.encoded_length(self.kept_bytes(required_scheme(scheme))) + 4
        )

    def kept_bytes(self, scheme: str) -> int:
        """Bytes of one encrypted value on a device, under the encryption scheme of that name."""
        return SCHEMES[scheme].public_key_class.ciphertext_bytes


class Servers(ABC):
    """A trust model: the holders of a recipe's private keys, and what follows for its document, its
    guarantees and its reports. A published document names the servers, in fields of their own.

    A trust model gives its class-level properties in its class statement, in which the type checker finds
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

    plain_inputs: ClassVar[tuple[DeviceInput, ...]] = ()
    """Those that devices send under no key of the recipe."""

    sealed_shares: ClassVar[int] = 0
    """Number of HPKE ciphertexts in a report: one for each server, if each gets a share."""

    noisy_count: ClassVar[bool] = False
    """Whether the servers publish the number of reports with noise."""

    amendments: ClassVar[Mapping[Model, Callable[[Guarantee], Guarantee]]] = {}
    """By the model of a guarantee, what these servers change of its source and its assumption."""

    has_segments: ClassVar[bool] = True
    """Whether its recipes may ask by segment."""

    has_rounds: ClassVar[bool] = True
    """Whether its recipes may be rounds of another document."""

    admits_by_token: ClassVar[bool] = False
    """Whether every report must come with a token."""

    report_signature_bytes: ClassVar[int] = 0
    """Length of a device's signature of its report, which it shows with its token: then no server can put
    another report under a token that it received (`panprivacy.recipe.token`). 0 if devices sign none."""

    publishes_reports: ClassVar[bool] = False
    """Whether accepted reports are kept, with their tokens, so that others recompute the result."""

    lists: ClassVar[tuple[str, ...]] = ()
    """Fields of a recipe file that name other files; commands first take them out, then read the rest."""

    report_format: ClassVar[ReportFormat | None] = ReportFormat()
    """None if no devices report. Only if they do, a recipe has an admission and a transport."""

    upload_refusal: ClassVar[tuple[str, str] | None] = None
    """Type and title of the problem that answers a report sent to the publishing site; None if it takes
    them."""

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
        if cls.proves_reports and statistic.fresh_ciphertexts:
            return "its devices add up ciphertexts, and shares cannot be added with their proofs"
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
    def encrypts(cls, statistic: type[Statistic[Any]]) -> bool:
        """Whether devices encrypt their input to a key of the recipe."""
        return statistic.device_input not in cls.plain_inputs

    @classmethod
    def release_probability(cls, cohort_size: int, population_size: int, reporting_rate: float) -> float:
        """The probability that there is a result, exact except for rounding: if the number of reports has
        noise, with the margin that is drawn beyond the cohort size.

        Args:
            cohort_size: at least 1.
            population_size: devices, each sends a valid report by its own coin.
            reporting_rate: with this probability, from 0 to 1.
        """
        # Imported here, because devices do not need it.
        from panprivacy.accounting import binomial, noisy_count

        if cls.noisy_count:
            return noisy_count.release_probability(cohort_size, population_size, reporting_rate)
        return float(binomial.upper_tail(cohort_size, population_size, reporting_rate, 1 - reporting_rate))

    @classmethod
    def sufficient_reports(cls, cohort_size: int) -> int:
        """The fewest valid reports with which there surely is a result: if their number has noise, with the
        largest margin."""
        # Imported here, because devices do not need it.
        from panprivacy.accounting import noisy_count

        return cohort_size + (2 * noisy_count.usual_margin(cohort_size) if cls.noisy_count else 0)

    @property
    def upload_sentence(self) -> str:
        """The address to which devices send reports, as a sentence, if not to the publishing site's own API;
        otherwise empty."""
        return ""

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        """Addresses of the servers that check a report's token, if the document names them, in its order.
        Tokens are bound to them."""
        return ()

    @property
    def partner(self) -> tuple[str, bytes] | None:
        """Role and verification key (32 bytes) of the second server that signs the document; None if only the
        publishing one does."""
        return None

    @property
    @abstractmethod
    def scheme(self) -> str | None:
        """The registered name of the encryption scheme; None if nothing is encrypted."""

    @property
    @abstractmethod
    def public_keys(self) -> tuple[SchemeKey, ...]:
        """The keys under which devices encrypt, in the document's order; empty if they encrypt under none."""

    def device_key(self, identifier: str) -> PublicKey | None:  # noqa: ARG002  # two servers' depends on it
        """The key under which devices of the recipe `identifier` encrypt; None if they encrypt under none."""
        match self.public_keys:
            case ():
                return None
            case (key,):
                return key
        raise ValueError("a trust model with several keys makes one of them")

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

    def require_made(self, document: Mapping[str, Any]) -> None:  # noqa: B027  # most prove nothing
        """RecipeVerificationError unless the keys in a document have the proofs that its devices check."""

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Check the signatures of all servers but the publishing one: a document that names another partner
        than the pinned one is the publisher that speaks to itself.

        Args:
            message: the signed bytes.
            partner_key: verification key of the partner server, which the device pinned; None without a
                partner.
            partner_signature: its signature, 64 bytes, or None.

        Raises:
            RecipeVerificationError: a required signature is missing or does not hold.
        """
        if self.partner is not None:
            role, key = self.partner
            require_signed_by(role, key, message, partner_key, partner_signature)
