"""How far devices that send what they like can move an estimate."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """What one dishonest device can move at most, whatever it sends that is counted; k of them k times that.

    Compared with any report that an honest device could have sent in its place.

    Attributes:
        each: one value of the estimate, in the estimate's unit.
        together: all values together: what is added to some and what is taken from others adds up to at most
            this.
        sentence: what makes it so, and what is not bounded, for people.
    """

    each: float
    together: float
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)
