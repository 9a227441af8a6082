"""The state of a stream algorithm: plain arrays, and exactly what an intruder gets to see."""

from dataclasses import dataclass, field
from typing import Any, Self

import msgpack
import numpy as np
from numpy.typing import NDArray

FORMAT = "panapp-stream-state-1"
"""Version of the serialized form."""


class StateFormatError(ValueError):
    """Bytes that are no state of this version."""


@dataclass(eq=False)
class StreamState:
    """Everything that is kept between two items.

    Attributes:
        statistic: registered name of the algorithm.
        announced_intrusions: how many there have been. Not secret: it tells nothing of the stream.
        arrays: integer arrays by name; their meaning is the algorithm's. Changed in place.
    """

    statistic: str
    announced_intrusions: int = 0
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The whole state; `from_bytes` is the inverse."""
        packed: bytes = msgpack.packb(
            {
                "format": FORMAT,
                "statistic": self.statistic,
                "announced_intrusions": self.announced_intrusions,
                "arrays": {
                    name: [array.dtype.str, list(array.shape), array.tobytes()]
                    for name, array in self.arrays.items()
                },
            }
        )
        return packed

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            StateFormatError: something else.
        """
        try:
            content = msgpack.unpackb(encoded)
            if content["format"] != FORMAT:
                raise StateFormatError(f"the format must be {FORMAT}, not {content['format']!r}")
            arrays = {
                name: np.frombuffer(data, dtype=np.dtype(kind)).reshape(shape).copy()
                for name, (kind, shape, data) in content["arrays"].items()
            }
            return cls(content["statistic"], content["announced_intrusions"], arrays)
        except (msgpack.UnpackException, KeyError, TypeError, ValueError) as error:
            raise StateFormatError(f"not a stream state: {error}") from error
