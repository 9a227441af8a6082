"""An intruder that reads the density state twice knows which items appeared in between (PPS Theorem 6.1, as
an attack).

An item's bit is unchanged while the item does not appear, and is drawn anew when it does. So a bit that has
changed between two intrusions is proof. By Theorem 6.1, every algorithm with finite state has this flaw, or
does not count. Announced intrusions are withstood: the bit is drawn anew after each, appearance or not.
"""

import math
from functools import partial
from itertools import product
from operator import sub

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.simulation import source
from panprivacy.statistics.streams.item_bits import BitDistributions
from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory.demonstration import Demonstration
from research.theory.full_density import full_density

KEY = "two-intrusions"

EPSILON = 0.5
INTRUSIONS = (1, 2, 3, 4, 5, 6, 7, 8)
ITEMS = 200_000
"""In the universe; half of them appear once ahead of each intrusion, the others never."""


def states_seen(count: int, announced: bool, seed: int) -> NDArray[np.uint8]:
    """What an intruder sees: bits, shape (intrusions, items). The first half of the items appears ahead of
    each.

    Args:
        announced: whether each intrusion is made known afterwards.
    """
    random_source = source(seed, KEY, "announced" if announced else "by surprise", count)
    statistic = full_density(EPSILON, ITEMS, count if announced else 0)
    state = statistic.start(random_source)
    appearing = np.arange(ITEMS // 2)
    seen = []
    for _ in range(count):
        statistic.process_batch(state, appearing, random_source)
        seen.append(state.arrays["bits"].copy())
        if announced:
            statistic.announce_intrusion(state, random_source)
    return np.array(seen)


def probabilities(bits: tuple[int, ...], announced: bool) -> tuple[float, float]:
    """The exact probabilities of what intrusions see of one bit: for an item that appears ahead of each, and
    for one that never does."""
    original = BitDistributions.original(EPSILON)
    appears, never = 1.0, 1.0
    for intrusion, bit in enumerate(bits):
        one = float(BitDistributions.after(EPSILON, intrusion if announced else 0).present)
        # Without an appearance: D₀ in the beginning; later what was seen, or drawn from it anew.
        if intrusion == 0:
            quiet = float(original.absent)
        elif announced:
            quiet = float(original.present if bits[intrusion - 1] else original.absent)
        else:
            quiet = float(bits[intrusion - 1])
        appears *= one if bit else 1 - one
        never *= quiet if bit else 1 - quiet
    return appears, never


def advantage(count: int, announced: bool) -> float:
    """The largest possible rate of hits minus rate of false alarms, exactly: the total variation distance."""
    pairs = [probabilities(bits, announced) for bits in product((0, 1), repeat=count)]
    return sum(max(appears - never, 0.0) for appears, never in pairs)


def attack(seen: NDArray[np.uint8], announced: bool) -> tuple[float, float]:
    """The rates of hits and of false alarms of the intruder that claims "appeared" if that is likelier.

    Args:
        seen: as in `states_seen`.
    """
    count = len(seen)
    guess = np.zeros(2**count, dtype=bool)
    for code, bits in enumerate(product((0, 1), repeat=count)):
        appears, never = probabilities(bits, announced)
        guess[code] = appears > never
    codes = np.zeros(seen.shape[1], dtype=np.int64)
    for bits_of_look in seen:
        codes = 2 * codes + bits_of_look
    guesses = guess[codes]
    return float(guesses[: ITEMS // 2].mean()), float(guesses[ITEMS // 2 :].mean())


def measured(count: int, announced: bool, seed: int) -> tuple[float, float]:
    """`attack` on a simulated stream."""
    return attack(states_seen(count, announced, seed), announced)


def advantage_bound(epsilon: float) -> float:
    """(e^ε − 1)/(e^ε + 1): the most that any test gains if ε holds."""
    return math.tanh(epsilon / 2)


def demonstrate(seed: int) -> Demonstration:
    """The attack with 1 to 8 intrusions, by surprise and announced."""
    surprise = {count: measured(count, False, seed) for count in INTRUSIONS}
    announced = {count: measured(count, True, seed) for count in INTRUSIONS}
    line = partial(Line.over, INTRUSIONS)
    chart = Figure(
        key=f"{KEY}-advantage",
        title="What an intruder learns of one item",
        caption=(
            "Rate of hits minus rate of false alarms of the best attack: 0 is a blind guess, 1 is "
            "certainty. The item appears once before each intrusion, or never."
        ),
        x_title="looks at the state",
        y_title="advantage of the intruder",
        panels=one_panel(
            INTRUSIONS,
            line("looks by surprise", Basis.MEASURED, lambda count: sub(*surprise[count])),
            line("looks by surprise", Basis.COMPUTED, lambda count: advantage(count, False)),
            line("announced intrusions", Basis.MEASURED, lambda count: sub(*announced[count])),
            line("announced intrusions", Basis.COMPUTED, lambda count: advantage(count, True)),
            line(
                f"any single intrusion, ε = {EPSILON:g}",
                Basis.BOUND,
                lambda count: advantage_bound(EPSILON) if count == 1 else None,
            ),
        ),
        logarithmic_x=False,
        logarithmic_y=False,
    )
    hits, alarms = surprise[2]
    one_hits, one_alarms = surprise[1]
    return Demonstration(
        key=KEY,
        title="Two looks by surprise are one too many",
        sentence=(
            "An intruder who breaks in once learns next to nothing about anyone. One who breaks in twice, "
            "and compares, knows for certain of nearly half of those who appeared in between, and never "
            "suspects anyone wrongly."
        ),
        measured=(
            f"The best attack on the density estimator’s state, ε = {EPSILON:g}, {ITEMS:,} items with a "
            "cell each. Half of them appear before every intrusion."
        ),
        proved=(
            "One intrusion gives at most ε (Claim 3.1), so no attack gains more than the bound from it. No "
            "algorithm with finite state that counts at all withstands two looks by surprise (Theorem 6.1), "
            "nor one by surprise and an announced one after it (Corollary 6.2): the damage is done before "
            "the announcement. Looks that are all announced cost privacy only slowly, and precision fast."
        ),
        source="Pan-Private Streaming Algorithms, section 6.1, Theorem 6.1 and Corollary 6.2; section 3, "
        "Theorem 3.2",
        seed=seed,
        charts=(chart,),
        facts=(
            Statement("hits with two looks by surprise", hits, Basis.MEASURED),
            Statement("false alarms with two looks by surprise", alarms, Basis.MEASURED),
            Statement("likelihood ratio of a changed bit: appeared against never", "∞", Basis.COMPUTED),
            Statement("hits with one intrusion", one_hits, Basis.MEASURED),
            Statement("false alarms with one intrusion", one_alarms, Basis.MEASURED),
            Statement("likelihood ratio of a 1 with one intrusion", 1 + EPSILON / 2, Basis.COMPUTED),
            Statement("likelihood ratio with one intrusion, at most exp(ε)", math.exp(EPSILON), Basis.BOUND),
        ),
    )
