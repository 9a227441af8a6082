"""One file per statistic; this is the registry."""

from typing import Any

from panprivacy.errors import FieldError
from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.mechanisms.mean import Mean

MECHANISMS: dict[str, type[Mechanism[Any]]] = {
    mechanism.statistic: mechanism for mechanism in (CountNonzero, Histogram, Mean)
}


def mechanism_class(statistic: object) -> type[Mechanism[Any]]:
    """The class behind a statistic's name; FieldError for a name that is not registered."""
    if not isinstance(statistic, str) or statistic not in MECHANISMS:
        raise FieldError("statistic", f"must be one of {', '.join(MECHANISMS)}, not {statistic!r}")
    return MECHANISMS[statistic]
