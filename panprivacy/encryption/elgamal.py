"""Lifted ElGamal on secp256k1: the default scheme.

With generator G, private key x and public key H = x·G, an encryption of the integer m
with randomness r is (r·G, r·H + m·G). Sums and multiples of ciphertexts encrypt sums and
multiples of plaintexts. Decryption finds m by search and is possible only in a known
small range (Cramer, Gennaro, Schoenmakers 1997). Group arithmetic is libsecp256k1's.

(G, H + m·G) is a valid encryption of m that any sender can write down, its randomness being
1. So a fresh encryption is a rerandomization of that public *source*, and encrypting,
replacing and rerandomizing are one path: choose a source, add a random multiple of (G, H).

A piece of a byte string is not lifted: it is embedded into a point M, and its source is (G, H + M). M has
the x-coordinate 256·value + counter for the least counter that gives a point, and the even y (Koblitz 1987).

libsecp256k1 cannot represent the point at infinity. It arises if a multiple is by 0 or points cancel; each
such place below states what it does instead.
"""

import functools
import itertools
import operator
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

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
from panprivacy.encryption.secp256k1 import (
    GROUP_ORDER,
    POINT_BYTES,
    SCALAR_BYTES,
    Point,
    combine,
    draw_scalar,
    multiply,
    multiply_generator,
    parse,
    scalar_bytes,
    serialize,
)

_WINDOW_SIZE = 256
_WINDOWS = SCALAR_BYTES

_BLOCK = 2**15
"""Plaintexts that one lookup of the decryption search covers; bounds its memory to some 6 MB."""

_REMEMBERED_SOURCES = 4096

_EVEN_Y = b"\x02"
"""First byte of the encoding of a point whose y is even (SEC 1, section 2.3.3)."""

_COUNTERS = 256


def _embedding(value: int) -> Point:
    """The point M of an integer below 2^248 that encodes a piece.

    Half of all x-coordinates are on the curve, so this takes two tries on average, and for a random
    piece runs out of counters with probability 2^-256.
    """
    for counter in range(_COUNTERS):
        point = parse(_EVEN_Y + (value << 8 | counter).to_bytes(SCALAR_BYTES, "big"))
        if point is not None:
            return point
    raise ValueError("these bytes have no embedding")


class _FixedBaseTable:
    """T_j[d] = (d + 1)·2^{8j}·P for j = 0..31 and d = 0..255: 8192 points, about 1.5 MB.

    The +1 keeps infinity out of the table; `points` takes the surplus Σ 2^{8j} off the scalar.
    """

    SURPLUS = sum(_WINDOW_SIZE**j for j in range(_WINDOWS))

    def __init__(self, point: Point) -> None:
        # One allocation; the rows point into it, so it must live as long as they do.
        self._memory = ffi.new("secp256k1_pubkey[]", _WINDOWS * _WINDOW_SIZE)
        self._rows: list[list[Point]] = []
        base = point
        for window in range(_WINDOWS):
            row = [self._memory + window * _WINDOW_SIZE + digit for digit in range(_WINDOW_SIZE)]
            row[0][0] = base[0]
            for previous, entry in itertools.pairwise(row):
                # No multiple of P by 1..2^256 other than q is at infinity, and none here is q.
                lib.secp256k1_ec_pubkey_combine(GLOBAL_CONTEXT.ctx, entry, [previous, base], 2)
            self._rows.append(row)
            base = row[-1]

    def points(self, scalar: int) -> list[Point]:
        """32 points whose sum is scalar·P."""
        digits = ((scalar - self.SURPLUS) % GROUP_ORDER).to_bytes(SCALAR_BYTES, "little")
        return list(map(operator.getitem, self._rows, digits))


@functools.cache
def _generator_table() -> _FixedBaseTable:
    return _FixedBaseTable(multiply_generator(scalar_bytes(1)))


class _Masks(Protocol):
    """The computation of r·G and r·H, each as points to be summed."""

    def points(self, scalar: int) -> tuple[list[Point], list[Point]]: ...


class _ConstantTimeMasks:
    def __init__(self, public_point: Point) -> None:
        self._public_point = public_point

    def points(self, scalar: int) -> tuple[list[Point], list[Point]]:
        encoded = scalar_bytes(scalar)
        return [multiply_generator(encoded)], [multiply(self._public_point, encoded)]


class _TableMasks:
    def __init__(self, public_point: Point) -> None:
        self._generator = _generator_table()
        self._public = _FixedBaseTable(public_point)

    def points(self, scalar: int) -> tuple[list[Point], list[Point]]:
        return self._generator.points(scalar), self._public.points(scalar)


class ElGamalCiphertext(Ciphertext):
    """(r·G, r·H + m·G), neither at infinity; encoded as two compressed points."""

    __slots__ = ("first", "second")

    def __init__(self, first: Point, second: Point) -> None:
        self.first = first
        self.second = second

    @classmethod
    def parse(cls, encoded: bytes) -> Self:
        """Decode 66 bytes; raises InvalidCiphertextError."""
        if len(encoded) != 2 * POINT_BYTES:
            raise InvalidCiphertextError(f"a ciphertext has {2 * POINT_BYTES} bytes, not {len(encoded)}")
        first, second = parse(encoded[:POINT_BYTES]), parse(encoded[POINT_BYTES:])
        if first is None or second is None:
            raise InvalidCiphertextError("not two compressed points of secp256k1")
        return cls(first, second)

    def __bytes__(self) -> bytes:
        return serialize(self.first) + serialize(self.second)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).parse, (bytes(self),)


_own = ElGamalCiphertext.own


class ElGamalPublicKey(SchemeKey):
    """H = x·G. The plaintext space is the integers modulo the group's order.

    Without tables, the scalar multiplications are constant-time in libsecp256k1; Python's
    own handling of the 256-bit scalar around them is not under our control. Encrypting 0 or
    1 takes the time of a rerandomization; any other message one more multiplication.
    """

    scheme = "elgamal-secp256k1"
    code = 1
    ciphertext_bytes = 2 * POINT_BYTES
    decryption_seconds = 60e-6
    # An x-coordinate holds the mark, the piece and the counter; the mark keeps it below the modulus.
    bytes_per_ciphertext = SCALAR_BYTES - 2
    # Both have uniform r, up to a statistical distance of 2^-255 (values that give infinity are left out).
    rerandomized_is_fresh = True

    def __init__(self, point: Point, *, tables: bool = False) -> None:
        self._point = point
        self._tables = tables
        self._masks: _Masks = _TableMasks(point) if tables else _ConstantTimeMasks(point)
        # Fixed in advance without tables: a growing cache would reveal, in the device's memory, which
        # messages it has encrypted.
        self._sources = {message: self._make_source(message) for message in (0, 1)}

    def _make_source(self, message: int) -> ElGamalCiphertext:
        """(G, H + message·G)."""
        generator = multiply_generator(scalar_bytes(1))
        if message % GROUP_ORDER == 0:
            return ElGamalCiphertext(generator, self._point)
        second = combine([self._point, multiply_generator(scalar_bytes(message))])
        if second is None:
            raise InvalidKeyError(f"the private key of this public key is {-message}: it can be guessed")
        return ElGamalCiphertext(generator, second)

    def _source(self, message: int) -> ElGamalCiphertext:
        source = self._sources.get(message)
        if source is None:
            source = self._make_source(message)
            if self._tables and len(self._sources) < _REMEMBERED_SOURCES:
                self._sources[message] = source
        return source

    def encrypt(
        self, message: int, random_source: random.Random, *, rerandomizations: int = 0
    ) -> ElGamalCiphertext:
        require_rerandomizations(rerandomizations)
        return self.rerandomize(self._source(message), random_source)

    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> ElGamalCiphertext:
        source = _own(ciphertext)
        while True:
            generator_part, public_part = self._masks.points(draw_scalar(random_source))
            first = combine([source.first, *generator_part])
            second = combine([source.second, *public_part])
            # At infinity for one scalar each, whatever the source: probability 2^-255; draw again.
            if first is not None and second is not None:
                return ElGamalCiphertext(first, second)

    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> ElGamalCiphertext:
        require_rerandomizations(rerandomizations)
        fresh, kept = self._source(message), _own(ciphertext)
        return self.rerandomize(fresh if replace else kept, random_source)

    def _embedded_source(self, value: int) -> ElGamalCiphertext:
        """(k·G, k·H + M), k = 1; 2 if H + M is at infinity."""
        generator, public = self._sources[0].first, self._point
        second = combine([public, _embedding(value)])
        if second is None:
            return ElGamalCiphertext(combine([generator, generator]), public)
        return ElGamalCiphertext(generator, second)

    def _encrypt_embedded(
        self, value: int, random_source: random.Random, *, rerandomizations: int
    ) -> ElGamalCiphertext:
        require_rerandomizations(rerandomizations)
        return self.rerandomize(self._embedded_source(value), random_source)

    def _replace_or_rerandomize_embedded(
        self,
        replace: bool,
        value: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> ElGamalCiphertext:
        require_rerandomizations(rerandomizations)
        fresh, kept = self._embedded_source(value), _own(ciphertext)
        return self.rerandomize(fresh if replace else kept, random_source)

    def add(self, ciphertexts: Sequence[Ciphertext]) -> ElGamalCiphertext:
        """See `SchemeKey.add`.

        If a half of the sum is at infinity (e.g. a ciphertext plus its own negative), the sum is shifted by a
        public encryption of zero, k·(G, H). Each half excludes one k modulo the group's order, so one of k =
        0, 1, 2 always serves.
        """
        if not ciphertexts:
            raise ValueError("a sum needs at least one ciphertext")
        firsts = [_own(ciphertext).first for ciphertext in ciphertexts]
        seconds = [_own(ciphertext).second for ciphertext in ciphertexts]
        zero = self._sources[0]
        while True:
            first, second = combine(firsts), combine(seconds)
            if first is not None and second is not None:
                return ElGamalCiphertext(first, second)
            firsts.append(zero.first)
            seconds.append(zero.second)

    def scale(self, ciphertext: Ciphertext, factor: int) -> ElGamalCiphertext:
        """See `SchemeKey.scale`. ValueError if `factor` is a multiple of the group's order."""
        if factor % GROUP_ORDER == 0:
            raise ValueError("factor must not be 0: encrypt 0 instead")
        own, scalar = _own(ciphertext), scalar_bytes(factor)
        # The order is prime: no other multiple of a point is at infinity.
        return ElGamalCiphertext(multiply(own.first, scalar), multiply(own.second, scalar))

    def parse(self, encoded: bytes) -> ElGamalCiphertext:
        return ElGamalCiphertext.parse(encoded)

    def with_tables(self) -> Self:
        return self if self._tables else type(self)(self._point, tables=True)

    def to_json(self) -> dict[str, str]:
        return {"scheme": self.scheme, "point": serialize(self._point).hex()}

    @classmethod
    def from_json(cls, members: Mapping[str, str]) -> Self:
        require_members(members, cls.scheme, ["point"])
        point = parse(hexadecimal(members, "point", POINT_BYTES))
        if point is None:
            raise InvalidKeyError("field 'point' is not a compressed point of secp256k1")
        return cls(point)


class _Multiples:
    """encoding of d·G → d for d = 1, 2, …, growing on demand, shared by all keys and ranges."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generator = multiply_generator(scalar_bytes(1))
        self._last = self._generator
        self._logarithms = {serialize(self._generator): 1}

    def up_to(self, maximum: int) -> dict[bytes, int]:
        """A table that holds at least d = 1..maximum."""
        if len(self._logarithms) < maximum:
            with self._lock:
                for logarithm in range(len(self._logarithms) + 1, maximum + 1):
                    self._last = combine([self._last, self._generator])
                    self._logarithms[serialize(self._last)] = logarithm
        return self._logarithms


_multiples = _Multiples()


@functools.lru_cache(maxsize=256)
def _blocks(start: int, stop: int) -> tuple[tuple[int, tuple[Point, ...]], ...]:
    """(low, (−low·G,)) for low = start, start + _BLOCK, …; no point if low·G is at infinity."""
    return tuple(
        (low, (multiply_generator(scalar_bytes(-low)),) if low % GROUP_ORDER else ())
        for low in range(start, stop, _BLOCK)
    )


class ElGamalPrivateKey(PrivateKey):
    """x with 0 < x < q.

    Decryption multiplies by x in constant time, because senders of reports choose the points. The search for
    the
    plaintext does not: its time reveals in which block of 2^15 the plaintext lies.
    """

    public_key_class: ClassVar[type[SchemeKey]] = ElGamalPublicKey

    def __init__(self, secret: bytes) -> None:
        value = int.from_bytes(secret, "big")
        if len(secret) != SCALAR_BYTES or not 0 < value < GROUP_ORDER:
            raise InvalidKeyError(f"a private key is {SCALAR_BYTES} bytes, not 0 and below the group's order")
        self._secret = secret
        self._negated = scalar_bytes(-value)
        self._public_key = ElGamalPublicKey(multiply_generator(secret))

    @property
    def public_key(self) -> ElGamalPublicKey:
        return self._public_key

    def decrypt(self, ciphertext: Ciphertext, allowed: range) -> int:
        require_decryptable(allowed)
        own = _own(ciphertext)
        points = (own.second, multiply(own.first, self._negated))
        logarithms = _multiples.up_to(min(len(allowed), _BLOCK) - 1)
        for low, offset in _blocks(allowed.start, allowed.stop):
            difference = combine([*points, *offset])
            if difference is None:  # (m − low)·G is at infinity: m is low
                return low
            logarithm = logarithms.get(serialize(difference))
            if logarithm is not None:
                if low + logarithm in allowed:
                    return low + logarithm
                break
        raise ValueOutOfRangeError(f"the plaintext is not in {allowed.start}..{allowed.stop - 1}")

    def _decrypt_embedded(self, ciphertext: Ciphertext) -> int:
        own = _own(ciphertext)
        point = combine([own.second, multiply(own.first, self._negated)])
        encoded = b"" if point is None else serialize(point)
        if not encoded.startswith(_EVEN_Y):
            raise ValueOutOfRangeError("the plaintext is not a piece of a byte string")
        return int.from_bytes(encoded[1:-1], "big")

    def to_bytes(self) -> bytes:
        return self._secret

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        return cls(encoded)

    @classmethod
    def generate(cls, random_source: random.Random) -> Self:
        return cls(scalar_bytes(draw_scalar(random_source)))
