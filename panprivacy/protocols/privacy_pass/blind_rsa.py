"""Blind RSA signatures (RFC 9474): the signer learns neither the message nor the signature.

The client blinds an encoded message, the signer signs it, the client unblinds. The result is an ordinary
RSASSA-PSS signature, which any party can verify with the public key.

Functions here take everything as arguments, the client's draws too.
"""

import hashlib
import random
from dataclasses import dataclass
from math import gcd

import gmpy2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.hashes import SHA384

from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey, PublicKey

HASH_BYTES = 48
PREFIX_BYTES = 32
"""Random bytes in front of the message, in the randomized variants."""


class BlindSignatureError(ValueError):
    """A message, a blinded message or an answer with which the protocol cannot go on."""


class InvalidSignatureError(BlindSignatureError):
    """The signature is not one of this message by this key."""


class SigningError(Exception):
    """The signature does not verify: the machine miscalculated. It must not leave, because it may reveal the
    key."""


@dataclass(frozen=True)
class Variant:
    """One of RFC 9474's four (section 5).

    Attributes:
        name: as the RFC spells it.
        salt_bytes: 48, or 0 in the PSSZERO variants.
        prefix_bytes: 32 if messages are randomized, otherwise 0.
    """

    name: str
    salt_bytes: int
    prefix_bytes: int


RANDOMIZED = Variant("RSABSSA-SHA384-PSS-Randomized", HASH_BYTES, PREFIX_BYTES)
ZERO_RANDOMIZED = Variant("RSABSSA-SHA384-PSSZERO-Randomized", 0, PREFIX_BYTES)
DETERMINISTIC = Variant("RSABSSA-SHA384-PSS-Deterministic", HASH_BYTES, 0)
ZERO_DETERMINISTIC = Variant("RSABSSA-SHA384-PSSZERO-Deterministic", 0, 0)

VARIANTS = {
    variant.name: variant for variant in (RANDOMIZED, ZERO_RANDOMIZED, DETERMINISTIC, ZERO_DETERMINISTIC)
}


@dataclass(frozen=True)
class BlindedMessage:
    """What `blind_with` gives.

    Attributes:
        message: for the signer, of the modulus's length.
        inverse: stays with the client, 1 to n - 1; unblinds the answer.
    """

    message: bytes
    inverse: int


def blind_with(key: PublicKey, prepared: bytes, salt: bytes, factor: int) -> BlindedMessage:
    """Blind a prepared message (section 4.2), with the client's draws.

    Args:
        prepared: the message, behind a random prefix in the randomized variants (section 4.1).
        salt: of the encoding, of the length that the variant sets.
        factor: r, 1 to n - 1.

    Raises:
        BlindSignatureError: the encoded message or the factor shares a divisor with n. That would break the
            key; none is found by chance.
    """
    # Blind, steps 1 to 3: m = EMSA-PSS-ENCODE(msg), of one bit less than n (RFC 8017, section 8.1.1).
    representative = int.from_bytes(encode(prepared, salt, key.n.bit_length() - 1), "big")
    # Steps 4 and 5: m must be coprime with n.
    if gcd(representative, key.n) != 1:
        raise BlindSignatureError("the encoded message shares a divisor with the modulus")
    # Steps 6 and 8: r is an argument, which must have an inverse.
    if not 1 <= factor < key.n or gcd(factor, key.n) != 1:
        raise BlindSignatureError("the blinding factor must be 1 to n - 1, without a divisor of n")
    # Steps 9 and 10: x = RSAVP1(pk, r), and z = m·x mod n.
    blinded = representative * int(gmpy2.powmod(factor, key.e, key.n)) % key.n
    # Steps 7, 11 and 12: z as bytes, and inv = r⁻¹ mod n.
    return BlindedMessage(blinded.to_bytes(key.length, "big"), pow(factor, -1, key.n))


def blind_sign(key: PrivateKey, blinded_message: bytes, random_source: random.Random) -> bytes:
    """Sign a blinded message (section 4.3). The same message gets the same signature.

    The base is blinded once more with a random factor, so that the time reveals nothing about it. The
    signature is verified and only then returned, so that a fault does not reveal the key (section 7.1).

    Args:
        blinded_message: as many bytes as the modulus has, a number below n.
        random_source: `secrets.SystemRandom()`.

    Raises:
        BlindSignatureError: the blinded message has another length or is no number below n.
        SigningError: the machine miscalculated.
    """
    public = key.public
    # BlindSign, step 1: m, a number below n (the range that RSASP1 asks for).
    message = _number(public, blinded_message, "blinded message")
    while gcd(factor := random_source.randrange(1, public.n), public.n) != 1:
        pass  # A divisor of n was drawn by chance, which is practically impossible.
    # Step 2: s = RSASP1(sk, m), of m·fᵉ for a random f, which is divided out of the result.
    hidden = key.power(message * int(gmpy2.powmod(factor, public.e, public.n)) % public.n)
    signature = int(hidden * gmpy2.invert(factor, public.n) % public.n)
    # Steps 3 and 4: m′ = RSAVP1(pk, s) must be m.
    if int(gmpy2.powmod(signature, public.e, public.n)) != message:
        raise SigningError("the signature does not verify")
    # Steps 5 and 6: s as bytes.
    return signature.to_bytes(public.length, "big")


def finalize(
    variant: Variant, key: PublicKey, prepared: bytes, blind_signature: bytes, inverse: int
) -> bytes:
    """Unblind the signer's answer (section 4.4). Returns the signature, which was verified.

    Raises:
        BlindSignatureError: the answer has another length than the modulus, or is no number below n.
        InvalidSignatureError: the signer signed something else, or nothing.
    """
    # Finalize, steps 1 and 2: z, of the modulus's length.
    hidden = _number(key, blind_signature, "blind signature")
    # Steps 3 and 4: s = z·inv mod n, as bytes.
    signature = (hidden * inverse % key.n).to_bytes(key.length, "big")
    # Steps 5 and 6: RSASSA-PSS-VERIFY, and only then the signature.
    verify(variant, key, prepared, signature)
    return signature


def verify(variant: Variant, key: PublicKey, prepared: bytes, signature: bytes) -> None:
    """Check a signature (RSASSA-PSS-VERIFY of RFC 8017, section 8.1.2).

    Raises:
        InvalidSignatureError: it is not one of this message by this key.
    """
    padding = PSS(MGF1(SHA384()), variant.salt_bytes)
    try:
        key.verifier.verify(signature, prepared, padding, SHA384())
    except InvalidSignature:
        raise InvalidSignatureError("the signature is not of this message by this key") from None


def encode(message: bytes, salt: bytes, bits: int) -> bytes:
    """EMSA-PSS-ENCODE with SHA-384 and MGF1 (RFC 8017, section 9.1.1).

    Args:
        salt: any length.
        bits: longest bit length of the encoding as a number, one less than the modulus has.

    Returns:
        bits / 8 bytes, rounded up.

    Raises:
        BlindSignatureError: the modulus is too short for hash and salt.
    """
    length = (bits + 7) // 8
    # Step 3: room for hash, salt and two bytes.
    if length < HASH_BYTES + len(salt) + 2:
        raise BlindSignatureError("the modulus is too short for this encoding")
    # Steps 2, 5 and 6: H = Hash(0⁸ ‖ Hash(M) ‖ salt). The salt of step 4 is an argument.
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    # Steps 7 and 8: DB = PS ‖ 0x01 ‖ salt, PS of zeros.
    block = bytes(length - len(salt) - HASH_BYTES - 2) + b"\x01" + salt
    # Steps 9 and 10: maskedDB = DB ⊕ MGF(H).
    masked = bytearray(a ^ b for a, b in zip(block, _mask(digest, len(block)), strict=True))
    # Step 11: clear the leftmost bits beyond `bits`.
    masked[0] &= 0xFF >> 8 * length - bits
    # Steps 12 and 13: EM = maskedDB ‖ H ‖ 0xbc.
    return bytes(masked) + digest + b"\xbc"


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384 (RFC 8017, appendix B.2.1)."""
    # Steps 3 and 4: Hash(seed ‖ counter) for counter = 0, 1, …, as many bytes as asked for.
    blocks = -(-length // HASH_BYTES)
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in range(blocks))[:length]


def _number(key: PublicKey, value: bytes, what: str) -> int:
    if len(value) != key.length:
        raise BlindSignatureError(f"the {what} must have {key.length} bytes, not {len(value)}")
    number = int.from_bytes(value, "big")
    if number >= key.n:
        raise BlindSignatureError(f"the {what} must be a number below the modulus")
    return number
