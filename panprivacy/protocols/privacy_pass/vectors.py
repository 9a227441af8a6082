"""Official test vectors: RFC 9474, appendix A, and RFC 9578's of token type 0x0002."""

import random
from collections.abc import Callable, Mapping
from math import lcm
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key

from panprivacy.formats.vector_files import VectorError, read_json, require_equal
from panprivacy.protocols.privacy_pass import blind_rsa, issuance
from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey, PublicKey
from panprivacy.protocols.privacy_pass.tokens import Token, TokenChallenge, TokenRequest, TokenResponse

Vector = Mapping[str, str]


def check_file(path: Path, random_source: random.Random) -> None:
    """Recompute everything in a file of test vectors.

    Args:
        random_source: blinds private operations; no result depends on it.

    Raises:
        VectorError: the file is unreadable, of nothing that is known here, or does not hold.
    """
    vectors = read_json(path)
    if not isinstance(vectors, list) or not vectors:
        raise VectorError("must be a list of at least one object")
    for number, vector in enumerate(vectors):
        try:
            _check(vector, random_source)
        except VectorError as error:
            raise VectorError(f"vector {number}{_name(vector)}: {error}") from error
        except KeyError as error:
            raise VectorError(f"vector {number}{_name(vector)}: has no field {error.args[0]!r}") from error
        except (TypeError, ValueError, AttributeError, OverflowError, UnsupportedAlgorithm) as error:
            raise VectorError(f"vector {number}{_name(vector)}: {error}") from error


def _check(vector: object, random_source: random.Random) -> None:
    if not isinstance(vector, dict) or not all(isinstance(value, str) for value in vector.values()):
        raise VectorError("must be an object whose fields are text")
    for member, check in _KINDS.items():
        if member in vector:
            check(vector, random_source)
            return
    raise VectorError("is of nothing that is known here: neither `blinded_msg` nor `token_request`")


def _check_signature(vector: Vector, random_source: random.Random) -> None:
    """RFC 9474: key, preparation, encoding, blinding, signing, unblinding, verifying."""
    variant = blind_rsa.VARIANTS.get(_trimmed(vector["name"]))
    if variant is None:
        raise VectorError(f"name: must be one of {', '.join(blind_rsa.VARIANTS)}")
    private = PrivateKey(_number(vector["p"]), _number(vector["q"]), _number(vector["e"]))
    key = private.public
    require_equal("n", hex(key.n), hex(_number(vector["n"])))
    order = lcm(private.p - 1, private.q - 1)
    require_equal("e·d modulo the group's order", _number(vector["d"]) * key.e % order, 1)
    if "sLen" in vector:
        require_equal("sLen", variant.salt_bytes, _number(vector["sLen"]))
    if "is_randomized" in vector:
        require_equal("is_randomized", int(variant.prefix_bytes > 0), _number(vector["is_randomized"]))

    salt, prefix = _bytes(vector.get("salt", "")), _bytes(vector.get("msg_prefix", ""))
    require_equal("bytes of salt", len(salt), variant.salt_bytes)
    require_equal("bytes of msg_prefix", len(prefix), variant.prefix_bytes)
    prepared = prefix + _bytes(vector["msg"])
    encoded = blind_rsa.encode(prepared, salt, key.n.bit_length() - 1)
    for member, value in (("input_msg", prepared), ("prepared_msg", prepared), ("encoded_msg", encoded)):
        if member in vector:
            _require(member, value, vector)

    factor = pow(_number(vector["inv"]), -1, key.n)
    blinded = blind_rsa.blind_with(key, prepared, salt, factor)
    _require("blinded_msg", blinded.message, vector)
    require_equal("inv", hex(blinded.inverse), hex(_number(vector["inv"])))
    signature = blind_rsa.blind_sign(private, blinded.message, random_source)
    _require("blind_sig", signature, vector)
    _require("sig", blind_rsa.finalize(variant, key, prepared, signature, blinded.inverse), vector)
    blind_rsa.verify(variant, key, prepared, _bytes(vector["sig"]))


def _check_token(vector: Vector, random_source: random.Random) -> None:
    """RFC 9578: key, request, answer, token."""
    private = _private_key(_bytes(vector["skS"]))
    key = private.public
    _require("pkS", key.encoded, vector)
    require_equal("the key that pkS holds", PublicKey.decode(_bytes(vector["pkS"])), key)
    challenge = TokenChallenge.decode(_bytes(vector["token_challenge"]))
    _require("token_challenge", challenge.encode(), vector)
    pending = issuance.ask_with(
        key, challenge.digest, _bytes(vector["nonce"]), _bytes(vector["salt"]), _number(vector["blind"])
    )
    _require("token_request", pending.request.encode(), vector)
    request = TokenRequest.decode(_bytes(vector["token_request"]))
    response = issuance.issue(private, request, random_source)
    _require("token_response", response.encode(), vector)
    answer = TokenResponse.decode(_bytes(vector["token_response"]))
    _require("token", pending.finish(answer).encode(), vector)
    issuance.verify(key, challenge.digest, Token.decode(_bytes(vector["token"])))


_KINDS: dict[str, Callable[[Vector, random.Random], None]] = {
    "token_request": _check_token,
    "blinded_msg": _check_signature,
}
"""The check, by a field that only such vectors have."""


def _private_key(encoded: bytes) -> PrivateKey:
    loaded = (load_pem_private_key if encoded.startswith(b"-----") else load_der_private_key)(encoded, None)
    if not isinstance(loaded, RSAPrivateKey):
        raise VectorError("skS: must be an RSA key")
    numbers = loaded.private_numbers()
    return PrivateKey(numbers.p, numbers.q, numbers.public_numbers.e)


def _require(member: str, ours: bytes, vector: Vector) -> None:
    require_equal(member, ours.hex(), _bytes(vector[member]).hex())


def _bytes(text: str) -> bytes:
    return bytes.fromhex(_trimmed(text).removeprefix("0x"))


def _number(text: str) -> int:
    return int(_trimmed(text).removeprefix("0x"), 16)


def _trimmed(text: str) -> str:
    return text.strip()


def _name(vector: object) -> str:
    name = vector.get("name") if isinstance(vector, dict) else None
    return f" ({name})" if isinstance(name, str) else ""
