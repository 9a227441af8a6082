"""Every statistic that can be asked, by its registered name."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters, as_typed
from panprivacy.statistics.events import MECHANISMS, SEGMENTED
from panprivacy.statistics.interface import NamedValues, Statistic
from panprivacy.statistics.randomized import RANDOMIZERS
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.streams import STREAM_STATISTICS

if TYPE_CHECKING:
    from panprivacy.statistics.events.dummies import Dummies

# Not of one type: a ChainMap would make them writable. A Mapping is read-only.
_REGISTRIES: tuple[Any, ...] = (SHUFFLE_STATISTICS, STREAM_STATISTICS, RANDOMIZERS, MECHANISMS)

STATISTICS: Mapping[str, type[Statistic[Any]]] = ChainMap(*_REGISTRIES)
"""Registered name → class, of all registries; a ChainMap lists them from the last to the first."""


def statistic_class(name: object) -> type[Statistic[Any]]:
    """The class behind a statistic's name; FieldError for a name that is not registered."""
    if not isinstance(name, str) or name not in STATISTICS:
        raise FieldError("statistic", f"must be one of {', '.join(STATISTICS)}, not {as_typed(name)}")
    return STATISTICS[name]


def statistic_of(
    name: str,
    parameters: PublicParameters,
    segments: Sequence[str] = (),
    dummies: "Dummies | None" = None,
    labels: Sequence[str] = (),
) -> Statistic[Any]:
    """The statistic of a registered name with its parameters, by segment if there are any.

    Args:
        dummies: what hides the number of reports; None if nothing does.
        labels: of the values of its answer, which devices may use for their values; empty if a recipe names
            none.

    Raises:
        FieldError: it cannot be with these.
    """
    if segments:
        return SEGMENTED[name](parameters, segments)  # type: ignore[arg-type]  # of that statistic
    statistic = statistic_class(name)(parameters)
    if dummies is not None:
        # Imported here, because most recipes are read without it.
        from panprivacy.statistics.events.interface import MaskedMechanism

        if not isinstance(statistic, MaskedMechanism):
            raise FieldError("hidden_count", f"must be left out of {name}: {statistic.dummy_obstacle}")
        statistic = statistic.with_dummies(dummies)
    return statistic.with_value_names(labels) if isinstance(statistic, NamedValues) else statistic
