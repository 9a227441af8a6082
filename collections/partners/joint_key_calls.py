"""The leader's questions to the helper of a recipe with a joint key.

Every call may be made again after it got no answer, with the same arguments.
"""

from panprivacy.formats import base64_text
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.partner import ask_json, member_of, signature_of

PART_TYPE = "application/octet-stream"


def key_commit(helper: PeerClient, *, request: bytes, context: bytes, commitment: bytes) -> bytes:
    """The helper's commitment to its half of a recipe's key, 32 bytes.

    Args:
        request: 16 random bytes; the same ones give the same half, for a day or until it is used.
        context: what the key is for, 32 bytes (`document_context`).
        commitment: ours.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    content = {"context": context.hex(), "commitment": commitment.hex()}
    return _bytes(ask_json(helper, "PUT", f"{_key(request)}/commitment", content), "commitment")


def key_reveal(helper: PeerClient, *, request: bytes, key: bytes) -> tuple[bytes, bytes]:
    """The helper's half of the key, and its commitment to its half of the common strings.

    Args:
        key: our half, which opens our commitment.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(helper, "PUT", f"{_key(request)}/half", {"key": base64_text.encode(key)})
    return _bytes(answer, "key"), _bytes(answer, "commitment")


def strings_reveal(helper: PeerClient, *, request: bytes, commitment: bytes) -> bytes:
    """The helper's half of the common strings.

    Args:
        commitment: to ours, which follows in the recipe.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(helper, "PUT", f"{_key(request)}/strings", {"commitment": commitment.hex()})
    return _bytes(answer, "string")


def recipe_join(helper: PeerClient, *, identifier: str, document: bytes, request: bytes) -> bytes:
    """The helper's Ed25519 signature of the recipe, 64 bytes, unchecked.

    Args:
        document: canonical JSON of the recipe, with the halves that `request` gave.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    content = {"document": document.decode(), "request": request.hex()}
    return signature_of(ask_json(helper, "PUT", _recipe(identifier), content))


def part_check(helper: PeerClient, *, identifier: str, number: int, content: bytes) -> None:
    """Have the helper check a part of the list, the first one has number 0.

    Raises:
        PeerUnavailableError.
        PeerRefusedError: a report of it does not hold there.
    """
    helper.send("PUT", f"{_recipe(identifier)}/parts/{number}", content, PART_TYPE)


def list_sign(helper: PeerClient, *, identifier: str, digest: str, reports: int) -> bytes:
    """The helper's signature of the list whose parts it checked, 64 bytes, unchecked. It signs one list of a
    recipe. Raises PeerUnavailableError or PeerRefusedError."""
    content = {"list": digest, "reports": str(reports)}
    return signature_of(ask_json(helper, "PUT", f"{_recipe(identifier)}/list", content))


def sum_decrypt(helper: PeerClient, *, identifier: str, proof: bytes) -> bytes:
    """The helper's part of the decryption of the sum, unchecked.

    Args:
        proof: that the list is in our log (`panprivacy.protocols.transparency.proof`).

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(
        helper, "PUT", f"{_recipe(identifier)}/decryption", {"proof": base64_text.encode(proof)}
    )
    return _bytes(answer, "part")


def recipe_end(helper: PeerClient, *, identifier: str, reason: str) -> None:
    """Have the helper delete its key and what it keeps of reports. Idempotent; one that does not know the
    recipe has nothing to delete. Raises PeerUnavailableError or PeerRefusedError."""
    try:
        ask_json(helper, "DELETE", _recipe(identifier), {"reason": reason})
    except PeerRefusedError as refusal:
        if refusal.status != 404:
            raise


def _bytes(answer: dict[str, object], name: str) -> bytes:
    try:
        return base64_text.decode(member_of(answer, name, str))
    except base64_text.Base64Error as error:
        raise PeerUnavailableError(f"{name} in the answer is not base64") from error


def _key(request: bytes) -> str:
    return f"/joint-keys/{request.hex()}"


def _recipe(identifier: str) -> str:
    return f"/joint-recipes/{identifier}"
