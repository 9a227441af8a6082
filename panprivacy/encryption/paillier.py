"""Paillier with phe's keys and the randomizer of Damgård, Jurik and Nielsen (2010).

n = p·q with Blum primes, h = −x² mod n, h_s = h^n mod n². An encryption of m is
(1 + n)^m · h_s^r mod n², r uniform on half as many bits as n has (DJN 2010, section 4.2).
phe's private key decrypts these ciphertexts and ours decrypts phe's. But ciphertexts of both must not meet in
one collection: h_s has Jacobi symbol +1 and phe's random r^n has −1 half of the time, in public. So the
randomizer is part of the serialized key.

r is shorter than the group's order, so rerandomizing adds exponents over the integers and
is not distributed as a fresh encryption: `rerandomizations=t` adds t + 1 of them. Replacing a
ciphertext and rerandomizing it draw as many, and raise h_s to exponents of one length.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

# Without gmpy2, phe would fall back to plain Python in silence, several times slower and not constant-time.
import gmpy2
import numpy as np

try:
    from phe import paillier as phe
except ImportError as error:
    raise ImportError("the Paillier schemes need phe: install panprivacy[paillier]") from error

from panprivacy.encryption.interface import (
    Ciphertext,
    InvalidCiphertextError,
    InvalidKeyError,
    PrivateKey,
    SchemeKey,
    ValueOutOfRangeError,
    hexadecimal,
    require_decryptable,
    require_members,
    require_rerandomizations,
)

RANDOMIZER = "djn"
"""Name of the one randomizer that these keys allow, in their serialized form."""

MAX_RERANDOMIZATIONS = 2**20

_WINDOW_BITS = 8
# (1 + t)·(2^k − 1) for t ≤ 2^20 needs 21 more bits than one exponent.
_SUM_BITS = 21

_WORD_BITS = 32
_DRAWN_TOGETHER = 4096  # exponents that are in memory at once, less than 1 MB

# Multiplied up once; a modulus that shares a factor with it is no product of two large primes.
_SMALL_PRIMES = gmpy2.primorial(10_000)

_Integer = Any
"""gmpy2.mpz, which carries no types."""


class _FixedBaseTable:
    """T_j[d] = base^(d·2^{8j}) mod n² (Brickell, Gordon, McCurley, Wilson 1992).

    For 3072 bits some 200 windows and 40 MB; a window of 10 bits would save a fifth of the
    multiplications for three times the memory.
    """

    def __init__(self, base: _Integer, modulus: _Integer, exponent_bits: int) -> None:
        self._modulus = modulus
        self._rows: list[list[_Integer]] = []
        for _ in range(-(-exponent_bits // _WINDOW_BITS)):
            row = [gmpy2.mpz(1)]
            for _ in range(2**_WINDOW_BITS):
                row.append(row[-1] * base % modulus)
            base = row.pop()
            self._rows.append(row)

    def power(self, exponent: int) -> _Integer:
        digits = exponent.to_bytes(len(self._rows), "little")
        result = gmpy2.mpz(1)
        for row, digit in zip(self._rows, digits, strict=True):
            if digit:
                result = result * row[digit] % self._modulus
        return result


class PaillierCiphertext(Ciphertext):
    """A unit modulo n²; encoded big-endian in twice the modulus's length."""

    __slots__ = ("length", "value")

    def __init__(self, value: _Integer, length: int) -> None:
        self.value = value
        self.length = length

    def __bytes__(self) -> bytes:
        encoded: bytes = self.value.to_bytes(self.length, "big")
        return encoded

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value, self.length)


class PaillierPublicKey(SchemeKey):
    """n and h_s. The plaintext space is the integers modulo n.

    Without tables, exponentiation is GMP's `mpn_sec_powm`, which resists side channels; the
    multiplications around it are full-size whatever the message, but not constant-time.
    """

    modulus_bits: ClassVar[int]
    rerandomized_is_fresh = False

    def __init__(self, n: int, hs: int, *, tables: bool = False) -> None:
        """Raises InvalidKeyError unless `n` and `hs` pass every check that needs no secret.

        Not checkable without the factors: that n has two prime factors and h_s is an n-th residue.
        A server that cheats here only harms data that it could read anyway.
        """
        _check_modulus(n, self.modulus_bits)
        if not 1 < hs < n * n or gmpy2.jacobi(hs, n) != 1:
            raise InvalidKeyError("'hs' must be a unit modulo n², not 1, with Jacobi symbol +1")
        self.phe_key = phe.PaillierPublicKey(n)
        self._n = gmpy2.mpz(n)
        self._n_squared = self._n * self._n
        self._hs = gmpy2.mpz(hs)
        self._exponent_bits = self.modulus_bits // 2
        sum_bits = self._exponent_bits + _SUM_BITS
        self._table = _FixedBaseTable(self._hs, self._n_squared, sum_bits) if tables else None
        # mpn_sec_powm takes longer for longer exponents, and none of 0; padded, all have one length.
        self._padding = gmpy2.mpz(1) << sum_bits
        self._padding_inverse = None if tables else gmpy2.powmod(self._hs, -self._padding, self._n_squared)
        # Prepared for the messages of indicators, so that replacing costs the same as rerandomizing.
        self._sources = {message: self._make_source(message) for message in (0, 1)}

    def _draw_exponents(self, number: int, random_source: random.Random) -> tuple[int, int]:
        """The first of `number` independent uniform exponents, and the sum of all."""
        first = random_source.getrandbits(self._exponent_bits)
        words = self._exponent_bits // _WORD_BITS
        sums = np.zeros(words, dtype=np.uint64)  # of at most 2^20 words each, so below 2^52
        for drawn in range(1, number, _DRAWN_TOGETHER):
            shape = (min(_DRAWN_TOGETHER, number - drawn), words)
            drawn_bytes = random_source.randbytes(shape[0] * self._exponent_bits // 8)
            sums += np.frombuffer(drawn_bytes, dtype="<u4").reshape(shape).sum(axis=0, dtype=np.uint64)
        return first, first + sum(int(word) << _WORD_BITS * i for i, word in enumerate(sums))

    def _power(self, exponent: int) -> _Integer:
        """h_s^exponent."""
        if self._table is not None:
            return self._table.power(exponent)
        padded = gmpy2.powmod_sec(self._hs, self._padding + exponent, self._n_squared)
        return padded * self._padding_inverse % self._n_squared

    def _make_source(self, message: int) -> _Integer:
        """(1 + n)^message · h_s mod n²: a public encryption with exponent 1."""
        return (1 + message % self._n * self._n) * self._hs % self._n_squared

    def _source(self, message: int) -> _Integer:
        source = self._sources.get(message)
        return self._make_source(message) if source is None else source

    def _masked(self, value: _Integer, exponent: int) -> PaillierCiphertext:
        return self._ciphertext(value * self._power(exponent) % self._n_squared)

    def _ciphertext(self, value: _Integer) -> PaillierCiphertext:
        return PaillierCiphertext(value, self.ciphertext_bytes)

    def encrypt(
        self, message: int, random_source: random.Random, *, rerandomizations: int = 0
    ) -> PaillierCiphertext:
        """See `SchemeKey.encrypt`. ValueError for more than 2**20 rerandomizations."""
        require_rerandomizations(rerandomizations, MAX_RERANDOMIZATIONS)
        _, exponent = self._draw_exponents(rerandomizations + 1, random_source)
        return self._masked(self._source(message), exponent)

    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> PaillierCiphertext:
        exponent, _ = self._draw_exponents(1, random_source)
        return self._masked(_own(ciphertext).value, exponent)

    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> PaillierCiphertext:
        """See `SchemeKey.replace_or_rerandomize`. ValueError for more than 2**20 rerandomizations."""
        require_rerandomizations(rerandomizations, MAX_RERANDOMIZATIONS)
        fresh, kept = self._source(message), _own(ciphertext).value
        one, total = self._draw_exponents(rerandomizations + 1, random_source)
        return self._masked(fresh if replace else kept, total if replace else one)

    def add(self, ciphertexts: Sequence[Ciphertext]) -> PaillierCiphertext:
        if not ciphertexts:
            raise ValueError("a sum needs at least one ciphertext")
        product = gmpy2.mpz(1)
        for ciphertext in ciphertexts:
            product = product * _own(ciphertext).value % self._n_squared
        return self._ciphertext(product)

    def scale(self, ciphertext: Ciphertext, factor: int) -> PaillierCiphertext:
        """See `SchemeKey.scale`. ValueError if `factor` is a multiple of n."""
        if factor % self._n == 0:
            raise ValueError("factor must not be 0: encrypt 0 instead")
        # The factor is public, so its exponentiation need not be constant-time.
        return self._ciphertext(gmpy2.powmod(_own(ciphertext).value, factor, self._n_squared))

    def parse(self, encoded: bytes) -> PaillierCiphertext:
        if len(encoded) != self.ciphertext_bytes:
            raise InvalidCiphertextError(
                f"a ciphertext has {self.ciphertext_bytes} bytes, not {len(encoded)}"
            )
        value = gmpy2.mpz.from_bytes(encoded, "big")
        if not 0 < value < self._n_squared or gmpy2.gcd(value, self._n) != 1:
            raise InvalidCiphertextError("not a unit modulo n²")
        return self._ciphertext(value)

    def with_tables(self) -> Self:
        return self if self._table is not None else type(self)(int(self._n), int(self._hs), tables=True)

    def to_json(self) -> dict[str, str]:
        n_length = self.modulus_bits // 8
        return {
            "scheme": self.scheme,
            "n": self._n.to_bytes(n_length, "big").hex(),
            "randomizer": RANDOMIZER,
            "hs": self._hs.to_bytes(2 * n_length, "big").hex(),
        }

    @classmethod
    def from_json(cls, members: Mapping[str, str]) -> Self:
        require_members(members, cls.scheme, ["n", "randomizer", "hs"])
        if members["randomizer"] != RANDOMIZER:
            raise InvalidKeyError(
                f"this key's randomizer is {members['randomizer']!r}, and only {RANDOMIZER!r} is supported: "
                "mixing randomizers under one key gives plaintexts away"
            )
        n_length = cls.modulus_bits // 8
        n = hexadecimal(members, "n", n_length)
        hs = hexadecimal(members, "hs", 2 * n_length)
        return cls(int.from_bytes(n, "big"), int.from_bytes(hs, "big"))


def _check_modulus(n: int, bits: int) -> None:
    if n.bit_length() != bits:
        raise InvalidKeyError(f"'n' must have {bits} bits, not {n.bit_length()}")
    if n % 4 != 1 or gmpy2.is_prime(n) or gmpy2.is_power(n) or gmpy2.gcd(n, _SMALL_PRIMES) != 1:
        raise InvalidKeyError("'n' must be the product of two large primes that are 3 modulo 4")


_own = PaillierCiphertext.own


class PaillierPrivateKey(PrivateKey):
    """Two Blum primes, in the form of phe's private keys (`phe_key`), and the public h_s.

    Exponentiations are GMP's `mpn_sec_powm`, in constant time, because senders of reports choose their bases.
    """

    public_key_class: ClassVar[type[PaillierPublicKey]]

    def __init__(self, p: int, q: int, hs: int) -> None:
        """Raises InvalidKeyError unless these are two different primes that fit each other and h_s."""
        prime_bits = self.public_key_class.modulus_bits // 2
        for prime in (p, q):
            if prime.bit_length() != prime_bits or prime % 4 != 3 or not gmpy2.is_prime(prime):
                raise InvalidKeyError(f"p and q must be primes of {prime_bits} bits that are 3 modulo 4")
        if gmpy2.gcd(p - 1, q - 1) != 2:  # p = q is such a case
            raise InvalidKeyError("2 must be the only common factor of p - 1 and q - 1")
        self._public_key = self.public_key_class(p * q, hs)
        self.phe_key = phe.PaillierPrivateKey(self._public_key.phe_key, p, q)
        self._hs = hs
        # (prime, its square, L(g^(prime − 1))^−1 modulo prime); Paillier 1999, section 7.
        key = self.phe_key
        self._halves = (
            (gmpy2.mpz(key.p), gmpy2.mpz(key.psquare), gmpy2.mpz(key.hp)),
            (gmpy2.mpz(key.q), gmpy2.mpz(key.qsquare), gmpy2.mpz(key.hq)),
        )
        self._p_inverse = gmpy2.invert(key.p, key.q)
        if any(self._residue(gmpy2.mpz(hs), half) for half in self._halves):
            raise InvalidKeyError("h_s is not an n-th residue of this key")

    @property
    def public_key(self) -> PaillierPublicKey:
        return self._public_key

    @staticmethod
    def _residue(value: _Integer, half: tuple[_Integer, _Integer, _Integer]) -> _Integer:
        """The plaintext modulo one prime."""
        prime, square, h = half
        return (gmpy2.powmod_sec(value % square, prime - 1, square) - 1) // prime * h % prime

    def decrypt(self, ciphertext: Ciphertext, allowed: range) -> int:
        """See `PrivateKey.decrypt`.

        One prime determines a plaintext known to be small, for half the work. A sender may
        choose it otherwise, and nothing proves that finding a ciphertext whose plaintext is
        small modulo p alone is hard without the factors; so both primes must agree.
        """
        require_decryptable(allowed)
        value = _own(ciphertext).value
        first, second = self._halves
        offset = (self._residue(value, first) - allowed.start) % first[0]
        if offset >= len(allowed) or (self._residue(value, second) - allowed.start) % second[0] != offset:
            raise ValueOutOfRangeError(f"the plaintext is not in {allowed.start}..{allowed.stop - 1}")
        return allowed.start + int(offset)

    def _decrypt_embedded(self, ciphertext: Ciphertext) -> int:
        """The whole plaintext, 0..n − 1, from its residues (Chinese remainder theorem)."""
        value = _own(ciphertext).value
        (p, _, _), (q, _, _) = self._halves
        first, second = (self._residue(value, half) for half in self._halves)
        return int(first + p * ((second - first) * self._p_inverse % q))

    def to_bytes(self) -> bytes:
        """p, q, h_s, each big-endian in its fixed length."""
        length = self.public_key_class.modulus_bits // 16
        p, q = (int(half[0]).to_bytes(length, "big") for half in self._halves)
        return p + q + self._hs.to_bytes(4 * length, "big")

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        length = cls.public_key_class.modulus_bits // 16
        if len(encoded) != 6 * length:
            raise InvalidKeyError(f"a private key has {6 * length} bytes, not {len(encoded)}")
        p, q, hs = encoded[:length], encoded[length : 2 * length], encoded[2 * length :]
        return cls(int.from_bytes(p, "big"), int.from_bytes(q, "big"), int.from_bytes(hs, "big"))

    @classmethod
    def generate(cls, random_source: random.Random) -> Self:
        """Takes seconds: Blum primes p, q and x, all uniform."""
        bits = cls.public_key_class.modulus_bits // 2
        p = _draw_blum_prime(bits, random_source)
        q = _draw_blum_prime(bits, random_source)
        while gmpy2.gcd(p - 1, q - 1) != 2:
            q = _draw_blum_prime(bits, random_source)
        n = p * q
        x = random_source.randrange(2, n)
        while gmpy2.gcd(x, n) != 1:
            x = random_source.randrange(2, n)
        return cls(p, q, int(gmpy2.powmod(-x * x % n, n, n * n)))


def _draw_blum_prime(bits: int, random_source: random.Random) -> int:
    """A prime that is 3 modulo 4, uniform among those with the two top bits set.

    The top bits give a product of two of them exactly 2·`bits` bits.
    """
    while True:
        candidate = random_source.getrandbits(bits) | 3 << (bits - 2) | 3
        if gmpy2.is_prime(candidate):
            return candidate


class Paillier2048PublicKey(PaillierPublicKey):
    scheme = "paillier-2048"
    code = 2
    modulus_bits = 2048
    ciphertext_bytes = 2 * modulus_bits // 8
    bytes_per_ciphertext = modulus_bits // 8 - 2
    decryption_seconds = 4e-3


class Paillier3072PublicKey(PaillierPublicKey):
    scheme = "paillier-3072"
    code = 3
    modulus_bits = 3072
    ciphertext_bytes = 2 * modulus_bits // 8
    bytes_per_ciphertext = modulus_bits // 8 - 2
    decryption_seconds = 12e-3


class Paillier2048PrivateKey(PaillierPrivateKey):
    public_key_class = Paillier2048PublicKey


class Paillier3072PrivateKey(PaillierPrivateKey):
    public_key_class = Paillier3072PublicKey
