"""How accuracy decays when the state is read on purpose (PPS section 3, "Handling Multiple Announced
Intrusions"), and the least that any algorithm loses (PPS section 6.2).

The table holds every item of the universe, so that nothing but randomized bits and noise makes an error.
"""

import math

import numpy as np

from panprivacy.accounting import discrete_laplace
from panprivacy.statistics.simulation import source
from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory.demonstration import Demonstration
from research.theory.full_density import full_density

KEY = "announced-intrusions"

EPSILON = 0.5
INTRUSIONS = (0, 1, 2, 3)
TABLE_SIZES = (10_000, 100_000)
REPETITIONS = 200
TARGET = 0.05
"""An acceptable standard error, as a part of the universe."""


def standard_error(table_size: int, announced_intrusions: int) -> float:
    """Standard deviation of the estimate when half of the items have appeared, as a part of the universe.

    The number of ones is a sum of independent bits plus discrete Laplace noise of scale 1/ε, and the
    estimate divides it by m times the distance of D₀ and D₁ after all intrusions, about (ε/4)^(a+1).
    """
    return math.sqrt(
        full_density(EPSILON, table_size, announced_intrusions).share_variance(0.5, announced_intrusions)
    )


def measured_error(table_size: int, announced_intrusions: int, seed: int) -> float:
    """Root mean square error over `REPETITIONS` streams in which half of the items appear: one half of these
    precede all intrusions, the other half follow them."""
    random_source = source(seed, KEY, table_size, announced_intrusions)
    density = full_density(EPSILON, table_size, announced_intrusions)
    early, late = np.arange(0, table_size, 4), np.arange(2, table_size, 4)
    errors = []
    for _ in range(REPETITIONS):
        state = density.start(random_source)
        density.process_batch(state, early, random_source)
        for _ in range(announced_intrusions):
            density.announce_intrusion(state, random_source)
        density.process_batch(state, late, random_source)
        (value,) = density.estimate(state, random_source).values
        errors.append(value - 0.5)
    return float(np.sqrt(np.mean(np.square(errors))))


def required_table_size(announced_intrusions: int) -> float:
    """How many cells it takes for a standard error of `TARGET`: about 1/(ε/4)^(2a+2) times a constant."""
    one_cell = full_density(EPSILON, 1, announced_intrusions)
    distance = one_cell.distributions(announced_intrusions).distance
    # Of a table of m cells, the bits have the variance bits/m, and the noise noise/m².
    noise = discrete_laplace.variance(1 / one_cell.table_epsilon) / distance**2
    bits = one_cell.share_variance(0.5, announced_intrusions) - noise
    # The positive solution m of bits/m + noise/m² = TARGET².
    return (bits + math.sqrt(bits**2 + 4 * noise * TARGET**2)) / (2 * TARGET**2)


def least_error(intrusions: int) -> float:
    """(k − 1)/2 items: some stream's number of different items is missed by this much with the probability
    `least_error_probability`, by any algorithm that is read after each of k items.

    After PPS Theorem 6.3: k times one item, and k items drawn from a universe much larger than k² (so that
    hardly any two are the same), give states that are hardly different; the answers differ by k − 1.
    """
    return (intrusions - 1) / 2


def least_error_probability(epsilon: float) -> float:
    """(1 − √(ε·tanh ε))/2, if ε holds between streams that differ in one item's presence; 0 from ε = 1.2 on,
    because nothing follows there.

    One item k times and another k times are two such steps apart, over the stream without both: so ε′ = 2ε,
    while PPS Lemma 6.4 has ε. The divergence of what is seen is then at most ε′·tanh(ε′/2), which the sum
    over the k steps keeps for items drawn at random, and the distance by Pinsker's inequality at most the
    root of half of it.
    """
    return max(0.0, (1 - math.sqrt(epsilon * math.tanh(epsilon))) / 2)


def demonstrate(seed: int) -> Demonstration:
    """Errors of two tables after 0 to 3 intrusions. Takes some seconds."""
    curves = []
    for table_size in TABLE_SIZES:
        name = f"{table_size:,} cells"
        measured = tuple(measured_error(table_size, count, seed) for count in INTRUSIONS)
        expected = tuple(standard_error(table_size, count) for count in INTRUSIONS)
        curves += [Line(name, Basis.MEASURED, measured), Line(name, Basis.COMPUTED, expected)]
    errors = Figure(
        key=f"{KEY}-errors",
        title="Error of the share of items that appeared",
        caption=(
            "Each announced intrusion makes the error 4/ε = 8 times larger. An error of ½ is what one gets "
            "by always answering one half."
        ),
        x_title="announced intrusions",
        y_title="error, as a part of the universe",
        panels=one_panel(INTRUSIONS, *curves),
        logarithmic_x=False,
    )
    cells = Figure(
        key=f"{KEY}-cells",
        title=f"Cells it takes for a standard error of {TARGET:g}",
        caption="To stay as precise, the table has to grow 64 times for each announced intrusion.",
        x_title="announced intrusions",
        y_title="cells",
        panels=one_panel(
            INTRUSIONS,
            Line.over(INTRUSIONS, "density", Basis.COMPUTED, required_table_size),
        ),
        logarithmic_x=False,
    )
    chance = least_error_probability(EPSILON)
    return Demonstration(
        key=KEY,
        title="What it costs to be read on purpose",
        sentence=(
            "A curator who must show the state can blur it again afterwards. A reader who saw it then "
            "learns little more from a second intrusion, but the count of items is blurred with it, very "
            "fast."
        ),
        measured=(
            f"Root mean square error of {REPETITIONS} simulated streams through the density estimator, ε = "
            f"{EPSILON:g}, with a cell for every item: a quarter of the items appear before the looks, "
            "another quarter after."
        ),
        proved=(
            "The two distributions of a bit are tracked exactly through all looks; their distance is (ε/4) "
            "to the power of looks + 1. And no other algorithm can keep its accuracy: if the state is read "
            f"after each of k items and ε = {EPSILON:g} holds for all of it, some answer is off by (k − "
            f"1)/2 items with probability at least {math.floor(1000 * chance) / 1000:g}."
        ),
        source=(
            "Pan-Private Streaming Algorithms, section 3, “Handling Multiple Announced Intrusions”; section "
            "6.2, Theorem 6.3 and Lemma 6.4"
        ),
        seed=seed,
        charts=(errors, cells),
        facts=(
            *(
                Statement(
                    f"items missed by any algorithm read after each of {count:,} items",
                    least_error(count),
                    Basis.BOUND,
                )
                for count in (10, 1_000)
            ),
            Statement("probability of missing that many, at least", chance, Basis.BOUND),
        ),
    )
