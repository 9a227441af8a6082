"""From a request's body to reports that are well-formed under their recipe."""

from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.encryption.interface import REPORT_NONCE_BYTES, InvalidCiphertextError
from panprivacy.formats import base64_text
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.recipe.token import REASONS as TOKEN_REASONS
from panprivacy.recipe.token import TokenRefusedError, token_require
from panprivacy.statistics.interface import ReportStatistic
from web.bodies import JSON_TYPE
from web.problems import malformed_body
from web.strict_json import JSONRefusedError, json_of_base64, json_problem

BATCH_REPORTS = 1_000
BODY_BYTES = 16 * 1024 * 1024
BATCH_CONTAINERS = 2 + 2 * BATCH_REPORTS
"""An object with a list of reports, each an object with a list."""

SHORTEST_CIPHERTEXT = 64
"""Characters of a ciphertext in JSON, at least: the smallest has 66 bytes, in base64."""


ARRIVAL_REASONS = (
    "malformed_report",
    "wrong_nonce_size",
    "wrong_ciphertext_count",
    "invalid_ciphertext",
    "duplicate_ciphertext",
    "duplicate_nonce",
    "invalid_proof",
    *TOKEN_REASONS,
)
"""Reasons for rejecting a report, all of them found without decrypting."""


class ReportRejectedError(ValueError):
    """One report that is not taken in.

    Attributes:
        reason: machine-readable, listed in docs/protocol.md.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def duplicate_nonce() -> ReportRejectedError:
    """Of a report whose nonce has come already."""
    return ReportRejectedError("duplicate_nonce", "A report with this nonce was accepted already.")


@dataclass(frozen=True)
class WellFormedReport:
    """A report whose sizes and group memberships hold.

    Attributes:
        nonce: 16 bytes.
        ciphertexts: no two of them are the same.
        token: kept with the report if accepted reports are published; else empty.
    """

    nonce: bytes
    ciphertexts: tuple[bytes, ...]
    token: bytes = b""

    @property
    def payload(self) -> bytes:
        """The ciphertexts, one after the other."""
        return b"".join(self.ciphertexts)

    @property
    def stored(self) -> bytes:
        """What is kept of it: the token, if any, and the ciphertexts."""
        return self.token + self.payload


def largest_body(recipe: PublishedRecipe, reports: int) -> int:
    """Bytes that a body with this many reports of a recipe takes at most, in JSON with some spaces."""
    ciphertexts = statistic_as(recipe, ReportStatistic).report_ciphertexts
    per_ciphertext = 2 * recipe.public_key.ciphertext_bytes + 16
    token = 0 if recipe.admission is None else 2 * TOKEN_BYTES
    return min(BODY_BYTES, 1_024 + reports * (256 + token + ciphertexts * per_ciphertext))


def decode_body(body: bytes) -> object:
    """The body as plain values.

    Raises:
        Problem: it is not JSON, or more than any body of reports.
    """
    members = BATCH_CONTAINERS + len(body) // SHORTEST_CIPHERTEXT
    try:
        return json_of_base64(body, containers=BATCH_CONTAINERS, members=members)
    except JSONRefusedError as error:
        raise json_problem(error, f"Not valid {JSON_TYPE}: {error}.") from None


def read_batch(content: object) -> list[object]:
    """The reports of a batch, unread. Raises Problem if the batch itself is malformed."""
    if (
        not isinstance(content, dict)
        or set(content) != {"reports"}
        or not isinstance(content["reports"], list)
    ):
        raise malformed_body('The body must be an object with one field, "reports": a list.')
    reports: list[object] = content["reports"]
    if not 1 <= len(reports) <= BATCH_REPORTS:
        raise malformed_body(f"A batch holds 1 to {BATCH_REPORTS:,} reports, not {len(reports):,}.")
    return reports


def read_report(content: object, recipe: PublishedRecipe) -> WellFormedReport:
    """One report, its token, sizes and group memberships checked.

    Raises:
        ReportRejectedError: with the reason.
    """
    if not isinstance(content, dict) or set(content) - _may_have(recipe) != {"nonce", "ciphertexts"}:
        raise ReportRejectedError(
            "malformed_report",
            "A report of this recipe has the fields nonce and ciphertexts"
            f"{' and token' if recipe.admission else ''}.",
        )
    encoded = content["ciphertexts"]
    if not isinstance(encoded, list):
        raise ReportRejectedError("malformed_report", "ciphertexts must be a list.")
    expected = statistic_as(recipe, ReportStatistic).report_ciphertexts
    if len(encoded) != expected:
        raise ReportRejectedError(
            "wrong_ciphertext_count", f"{recipe.statistic} sends {expected} ciphertexts, not {len(encoded)}."
        )
    try:
        nonce = _bytes(content["nonce"])
        ciphertexts = [_bytes(ciphertext) for ciphertext in encoded]
    except ValueError as error:
        raise ReportRejectedError("malformed_report", str(error)) from None
    if len(nonce) != REPORT_NONCE_BYTES:
        raise ReportRejectedError(
            "wrong_nonce_size", f"A nonce has {REPORT_NONCE_BYTES} bytes, not {len(nonce)}."
        )
    token = b""
    if recipe.admission is not None:
        # First: to verify a token takes 50 µs, to read a ciphertext more than that.
        token = _required_token(recipe, content.get("token"), nonce, ciphertexts)
    try:
        for ciphertext in ciphertexts:
            recipe.public_key.parse(ciphertext)
    except InvalidCiphertextError as error:
        raise ReportRejectedError("invalid_ciphertext", str(error)) from None
    if len(set(ciphertexts)) < len(ciphertexts):
        raise ReportRejectedError("duplicate_ciphertext", "Two ciphertexts of this report are the same.")
    return WellFormedReport(nonce, tuple(ciphertexts), token if recipe.servers.publishes_reports else b"")


def _may_have(recipe: PublishedRecipe) -> set[str]:
    return set() if recipe.admission is None else {"token"}


def _required_token(
    recipe: PublishedRecipe, encoded: object, nonce: bytes, ciphertexts: Sequence[bytes]
) -> bytes:
    try:
        token = None if encoded is None else _bytes(encoded)
        token_require(recipe, token, nonce, ciphertexts)
    except TokenRefusedError as error:
        detail = f"{error}."
        raise ReportRejectedError(error.reason, detail[:1].upper() + detail[1:]) from None
    except ValueError as error:
        raise ReportRejectedError("malformed_report", str(error)) from None
    return token or b""


def _bytes(value: object) -> bytes:
    try:
        return base64_text.decode(value)
    except base64_text.Base64Error:
        raise ValueError("nonce, ciphertexts and token must be base64 strings.") from None
