"""Every statistic that can be asked, by its registered name."""

from typing import Any

from panprivacy.errors import FieldError
from panprivacy.mechanisms import MECHANISMS
from panprivacy.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistic import Statistic
from panprivacy.streams import STREAM_STATISTICS

STATISTICS: dict[str, type[Statistic[Any]]] = {**MECHANISMS, **STREAM_STATISTICS, **SHUFFLE_STATISTICS}


def statistic_class(name: object) -> type[Statistic[Any]]:
    """The class behind a statistic's name; FieldError for a name that is not registered."""
    if not isinstance(name, str) or name not in STATISTICS:
        raise FieldError("statistic", f"must be one of {', '.join(STATISTICS)}, not {name!r}")
    return STATISTICS[name]
