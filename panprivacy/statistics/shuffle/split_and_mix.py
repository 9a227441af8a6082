"""Sums modulo 2 through a shuffler: every user splits one bit into random bits whose XOR it is.

Ishai, Kushilevitz, Ostrovsky & Sahai, "Cryptography from Anonymity" (FOCS 2006), used in RSP Theorem 3.2.
Balle, Bell, Gascón & Nissim bound how many shares hide the users' bits, for sums modulo any q ("Private
Summation in the Multi-Message Shuffle Model", CCS 2020). They count the collisions of random splits. For bits
the quantity that they bound can be computed, and the result holds for every input, not only on average:

The only information in n·m shuffled bits is the number of ones. Of a user with bit b, that number has the
generating function ((1 + z)^m + (−1)^b·(1 − z)^m)/2^m; if a of n users have a one,

    2^−nm · Σ_{j=0..n} K_j(a)·(1 + z)^{m(n−j)}·(1 − z)^{mj},    K_j(a) = Σ_i (−1)^i·C(a, i)·C(n − a, j − i).

Random bits of the same parity leave the terms j = 0 and j = n alone, because K_j is 0 on average for all
others. With N = nm, the coefficients of (1 + z)^{N−i}·(1 − z)^i for different i are orthogonal under the
weights 1/C(N, s), with squared length 2^N/C(N, i) (Krawtchouk polynomials). So the difference d(s) between
the two distributions has

    Σ_s d(s)²·2^N/C(N, s) = Σ_{j=1..n−1} K_j(a)²/C(nm, jm) ≤ Σ_{j=1..n−1} C(n, j)²/C(nm, jm) =: X,

with equality at a = 0. If s has the other parity, d is 0, and those s have half of the mass of C(N, s)/2^N.
So Cauchy and Schwarz give a total variation distance ½·Σ|d| ≤ ½·√(X/2).
"""

import math
import random
from functools import lru_cache

LEAST_SHARES = 4
"""With fewer, a few more users do not always make the distance smaller, which robustness needs."""

_TERMS = 4  # of either end of the sum; the others are bounded together
_ROUNDING = 1e-9


def split(bit: int, shares: int, random_source: random.Random) -> list[int]:
    """`shares` ≥ 1 bits whose XOR is `bit`; all but one of them are independent and fair."""
    drawn = random_source.getrandbits(shares) & ~1  # the lowest place is kept for the last share
    drawn |= (drawn.bit_count() & 1) ^ bit
    return [drawn >> place & 1 for place in range(shares)]


@lru_cache(maxsize=1024)
def log2_distance(users: int, shares: int) -> float:
    """log₂ of an upper bound on how much more the shuffled shares reveal than the XOR of all bits.

    That is the total variation distance between two numbers of ones. One is among the shares of `users` ≥ 1
    honest users, whatever their bits; the other is for random bits with the same XOR. −∞ if it is 0.

    Of the sum X in the module's docstring, the first and last terms are computed. A term between them is at
    most C(n, j)^{2−m}, because C(nm, jm) ≥ C(n, j)^m counts the choices of j in each of m parts.

    Raises:
        ValueError: there is no user, or no share.
    """
    if users < 1 or shares < 1:
        raise ValueError(f"there must be a user and a share, not {users} and {shares}")
    if users == 1:
        return -math.inf
    if shares < LEAST_SHARES:
        return 0.0
    ends = min(_TERMS, (users - 1) // 2)
    logs = [_log2_term(users, shares, j) + 1 for j in range(1, ends + 1)]
    rest = users - 1 - 2 * ends
    if rest == 1:
        logs.append(_log2_term(users, shares, ends + 1))
    elif rest > 1:
        logs.append(math.log2(rest) - (shares - 2) * math.log2(math.comb(users, ends + 1)))
    largest = max(logs)
    total = largest + math.log2(math.fsum(2 ** (value - largest) for value in logs))
    return min(0.0, (total - 1) / 2 - 1 + _ROUNDING)


def _log2_term(users: int, shares: int, j: int) -> float:
    """log₂ of C(n, j)²/C(nm, jm)."""
    return 2 * math.log2(math.comb(users, j)) - math.log2(math.comb(users * shares, j * shares))


@lru_cache(maxsize=1024)
def shares_for(users: int, security: float) -> int:
    """The smallest number of shares, at least `LEAST_SHARES`, with a distance of at most 2^−security.

    Args:
        users: honest ones, at least 2; for more of them the distance is smaller.
        security: σ > 0, in bits.

    Raises:
        ValueError: there are fewer than 2 users.
    """
    if users < 2:
        raise ValueError(f"one user's bit is the sum: there must be at least 2 users, not {users}")
    shares = LEAST_SHARES
    while log2_distance(users, shares) > -security:
        shares += 1
    return shares
