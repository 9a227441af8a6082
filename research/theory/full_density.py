"""The density estimator with a cell for every item: only randomized bits and noise make an error."""

from panprivacy.statistics.streams.density import Density, DensityParameters
from panprivacy.statistics.streams.parameters import NUMBERED


def full_density(epsilon: float, items: int, announced_intrusions: int) -> Density:
    """The density of a universe of this number of items."""
    return Density(
        DensityParameters(
            epsilon=epsilon,
            universe_size=items,
            items=NUMBERED,
            table_size=items,
            announced_intrusions=announced_intrusions,
        )
    )
