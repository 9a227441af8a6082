"""The signers of a result's number of reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.signed_count import CountRefusedError, ReleasedCount
from panprivacy.protocols.transparency.findings import CheckError, Findings

PARTNERS = {"Helper": "Leader", "Shuffler": "Analyzer"}
"""Name of each partner server → the site's own name in recipes with that partner."""

ALONE = ("Server", "Curator")
"""What the site is called in recipes without partners."""

_MISSING = (
    "Whether the {0} counted this number of reports: the recipe names a key of the {0}, and the result "
    "has no signature by it."
)


def counts_signed(
    result: Mapping[str, Any], recipe: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]
) -> Findings:
    """The signers of the number of reports, each with its own key: the site cannot change that alone.

    Args:
        recipe: the document in the result.
        keys: the site's; it signed with one of them.

    Raises:
        CheckError: a signature does not hold, or is by no server of the recipe.
    """
    known = _servers_of(recipe, keys)
    servers, reports = result.get("servers"), result.get("reports")
    signers: list[str] = []
    if isinstance(servers, list) and type(reports) is int:
        count = ReleasedCount(str(result["id"]), reports)
        for server in servers:
            if not isinstance(server, dict) or server.get("signature") is None:
                continue
            name = server.get("name")
            if not isinstance(name, str) or name not in known or name in signers:
                raise CheckError(f"a signature is by {name!r}, which is no server of this recipe, or twice")
            try:
                _require_count(count, base64_text.decode(server["signature"], 64), known[name])
            except (CountRefusedError, base64_text.Base64Error):
                raise CheckError(f"the {name.lower()} did not sign this number of reports") from None
            signers.append(name)
    by = " and ".join(f"the {name.lower()}" for name in signers)
    told = (f"The number of reports, {reports:,}, is signed by {by}.",) if signers else ()
    # A result that was withheld has no number.
    missing = [name.lower() for name in PARTNERS if known.get(name) and name not in signers]
    asked = missing if result.get("outcome") == "released" else []
    return Findings(told, tuple(_MISSING.format(name) for name in asked))


def _servers_of(
    recipe: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]
) -> dict[str, Sequence[Ed25519PublicKey]]:
    """Name → keys with which this server of a recipe signs; none of a partner that the recipe has no key of.

    Partners sign with the key in the recipe alone: the site cannot sign in their names.
    """
    found: dict[str, Sequence[Ed25519PublicKey]] = {}
    for name, own in PARTNERS.items():
        partner = recipe.get(name.lower())
        if partner is None:
            continue
        key = partner.get("verification_key") if isinstance(partner, dict) else None
        try:
            found[name] = () if key is None else verification_keys([base64_text.decode(key, 32)])
        except ValueError as error:
            raise CheckError(f"{name.lower()}.verification_key in the recipe {error}") from None
        found[own] = keys
    return found or dict.fromkeys(ALONE, keys)


def _require_count(count: ReleasedCount, signature: bytes, keys: Sequence[Ed25519PublicKey]) -> None:
    for key in keys:
        try:
            count.verify(signature, key)
        except CountRefusedError:
            continue
        return
    raise CountRefusedError("no key signed this number")


def verification_keys(keys: Sequence[bytes]) -> list[Ed25519PublicKey]:
    """Ed25519 keys of 32 bytes each, ready to verify."""
    return [public_key_of(key) for key in keys]
