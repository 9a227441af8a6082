"""How far dishonest devices can move an estimate."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """The most that one dishonest device can move by any accepted report; k of them move k times that.

    Compared with any report that an honest device could have sent in its place.

    Attributes:
        each: one value of the estimate, in the estimate's unit.
        together: all values together: the sum of all absolute changes is at most this.
        sentence: the reason, and what is not bounded, for people.
    """

    each: float
    together: float
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)
