"""RSA keys that sign blindly, and how their public halves are written (RFC 9578, section 6.5).

The name of a key is the hash of its encoding, so there is one encoding only. It is a SubjectPublicKeyInfo
whose algorithm is RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes.
"""

import hashlib
import random
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Self

import gmpy2
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

MODULUS_BITS = 2048
"""Of the keys of token type 0x0002."""

PUBLIC_EXPONENT = 65_537

_LEAST_BITS, _MOST_BITS = 1024, 8192
_LEAST_DISTANCE = 100
"""p and q differ within their first 100 bits: Fermat's method does not find them (FIPS 186-5, A.1.3)."""

# AlgorithmIdentifier of id-RSASSA-PSS with SHA-384, MGF1-SHA-384 and a salt of 48 bytes.
_ALGORITHM = bytes.fromhex(
    "303d06092a864886f70d01010a3030a00d300b0609608648016503040202"
    "a11a301806092a864886f70d010108300b0609608648016503040202a203020130"
)
_SEQUENCE, _BIT_STRING = 0x30, 0x03


class InvalidKeyError(ValueError):
    """Bytes or numbers that are no RSA key as they must be."""


@dataclass(frozen=True)
class PublicKey:
    """Verifies, and blinds messages for the holder of the private key.

    Attributes:
        n: modulus, odd, 1,024 to 8,192 bits.
        e: public exponent, odd, at least 3 and below n.
    """

    n: int
    e: int = PUBLIC_EXPONENT

    def __post_init__(self) -> None:
        if not _LEAST_BITS <= self.n.bit_length() <= _MOST_BITS or self.n % 2 == 0:
            raise InvalidKeyError(f"the modulus must be odd, of {_LEAST_BITS} to {_MOST_BITS} bits")
        if not 3 <= self.e < self.n or self.e % 2 == 0:
            raise InvalidKeyError("the public exponent must be odd, at least 3 and below the modulus")

    @property
    def length(self) -> int:
        """Bytes of the modulus, of a blinded message and of a signature."""
        return (self.n.bit_length() + 7) // 8

    @cached_property
    def verifier(self) -> rsa.RSAPublicKey:
        """The same key as `cryptography` holds it. Kept: making it takes 30 times as long as verifying."""
        try:
            return rsa.RSAPublicNumbers(self.e, self.n).public_key()
        except (ValueError, UnsupportedAlgorithm) as error:
            raise InvalidKeyError("is no RSA key") from error

    @cached_property
    def encoded(self) -> bytes:
        """The SubjectPublicKeyInfo, DER."""
        numbers = self.verifier.public_bytes(Encoding.DER, PublicFormat.PKCS1)
        return _der(_SEQUENCE, _ALGORITHM + _der(_BIT_STRING, b"\0" + numbers))

    @cached_property
    def key_id(self) -> bytes:
        """SHA-256 of the encoding (32 bytes): the key's name in tokens."""
        return hashlib.sha256(self.encoded).digest()

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encoded`; InvalidKeyError for any other bytes."""
        try:
            length = encoded.index(_ALGORITHM) + len(_ALGORITHM) + 1
            # Past the bytes that follow the length's first, and the number of unused bits.
            loaded = load_der_public_key(encoded[length + encoded[length] % 0x80 + 2 :])
        except (ValueError, IndexError, UnsupportedAlgorithm):
            loaded = None
        if not isinstance(loaded, rsa.RSAPublicKey):
            raise InvalidKeyError("must be an RSASSA-PSS key (SHA-384, salt of 48 bytes), DER")
        numbers = loaded.public_numbers()
        key = cls(numbers.n, numbers.e)
        if key.encoded != encoded:
            raise InvalidKeyError("is not encoded as RFC 9578 asks")
        return key


@dataclass(frozen=True)
class PrivateKey:
    """Signs what it cannot read.

    Attributes:
        p, q: the two primes, never shown by `repr`.
        e: public exponent, coprime to p - 1 and q - 1.
    """

    p: int = field(repr=False)
    q: int = field(repr=False)
    e: int = PUBLIC_EXPONENT

    def __post_init__(self) -> None:
        if min(self.p, self.q) < 3 or self.p == self.q or gcd(self.e, (self.p - 1) * (self.q - 1)) != 1:
            raise InvalidKeyError("p and q must be different primes that fit the public exponent")
        if not (gmpy2.is_prime(self.p) and gmpy2.is_prime(self.q)):
            raise InvalidKeyError("p and q must be primes")
        self.public  # noqa: B018  # its ranges are checked

    @cached_property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(self.p * self.q, self.e)

    def power(self, base: int) -> int:
        """base^d mod n by the Chinese remainder theorem, in a time that does not depend on the exponents.

        Args:
            base: 0 to n - 1. Blind it first: the time may depend on it.
        """
        p, q, d_p, d_q, inverse = self._halves
        s_p = gmpy2.powmod_sec(base % p, d_p, p)
        s_q = gmpy2.powmod_sec(base % q, d_q, q)
        return int(s_q + (s_p - s_q) * inverse % p * q)

    @cached_property
    def _halves(self) -> tuple[int, int, int, int, int]:
        """p, q, d mod p - 1, d mod q - 1, and q's inverse modulo p."""
        return (
            self.p,
            self.q,
            pow(self.e, -1, self.p - 1),
            pow(self.e, -1, self.q - 1),
            pow(self.q, -1, self.p),
        )


def generate(random_source: random.Random, bits: int = MODULUS_BITS) -> PrivateKey:
    """A fresh key (FIPS 186-5, appendix A.1.3: probable primes).

    Args:
        random_source: `secrets.SystemRandom()`.
        bits: of the modulus; even, 1,024 to 8,192.

    Raises:
        ValueError: that number of bits is impossible.
    """
    if bits % 2 or not _LEAST_BITS <= bits <= _MOST_BITS:
        raise ValueError(f"bits must be even, {_LEAST_BITS} to {_MOST_BITS}, not {bits}")
    while True:
        p, q = _prime(random_source, bits // 2), _prime(random_source, bits // 2)
        if abs(p - q).bit_length() > bits // 2 - _LEAST_DISTANCE:
            return PrivateKey(p, q)


def _prime(random_source: random.Random, bits: int) -> int:
    """A random prime whose two highest bits are set, so that the product of two has all of its bits."""
    while True:
        candidate = random_source.getrandbits(bits) | 3 << bits - 2 | 1
        # gmpy2 tries small divisors first. BPSW and then 25 rounds: FIPS asks for fewer.
        if gcd(candidate - 1, PUBLIC_EXPONENT) == 1 and gmpy2.is_prime(candidate, 25):
            return candidate


def _der(tag: int, content: bytes) -> bytes:
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    if len(content) < 128:
        return bytes((tag, len(content))) + content
    return bytes((tag, 0x80 | len(length))) + length + content
