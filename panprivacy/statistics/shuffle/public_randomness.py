"""Public randomness, the same for all readers of a recipe: functions that its parameters choose.

A seed is the hash of the other parameters, so that all parties can compute it, and no party can choose it
after seeing values. It serves precision only: no guarantee relies on it (RSP Definition 2.8).
"""

import hashlib
import json
from functools import lru_cache

from panprivacy.formats.parameters import PublicParameters

LARGEST_SEED = 2**53 - 1
"""The largest whole number that every reader of JSON takes exactly."""

_PRIME = 2**127 - 1


def public_seed(statistic: str, parameters: PublicParameters, seed_name: str) -> int:
    """A seed that all parameters but `seed_name` determine."""
    others = {name: value for name, value in parameters.as_dict().items() if name != seed_name}
    text = json.dumps([statistic, others], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()) % (LARGEST_SEED + 1)


def hashed_place(seed: int, text: str, places: int) -> int:
    """The place, 0..places − 1, of any text: ((a·x + b) mod p) mod places for p = 2^127 − 1.

    x is the text's SHA-256 modulo p; a ≠ 0 and b come from the seed. Two numbers x share a place with
    probability at most 1/places over a and b (Carter & Wegman 1979, Proposition 7).
    As far as SHA-256 is a random function, the places of different texts are independent and uniform.
    """
    x = _number(text.encode("utf-8", "surrogatepass")) % _PRIME
    a = 1 + _seeded(seed, "a") % (_PRIME - 1)
    b = _seeded(seed, "b") % _PRIME
    return (a * x + b) % _PRIME % places


@lru_cache(maxsize=16)
def partition(seed: int, k: int, groups: int) -> tuple[int, ...]:
    """The group, 0..groups − 1, of each of k values, all groups being equally large.

    Values are ordered by the seed's hash of each, and the order is cut into groups.

    Raises:
        ValueError: `groups` does not divide k.
    """
    if k % groups:
        raise ValueError(f"{k} values cannot be cut into {groups} groups of one size")
    order = sorted(range(k), key=lambda value: _seeded(seed, str(value)))
    group_of = [0] * k
    for place, value in enumerate(order):
        group_of[value] = place * groups // k
    return tuple(group_of)


def _seeded(seed: int, label: str) -> int:
    return _number(f"{seed}/{label}".encode())


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest())
