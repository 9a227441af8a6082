"""The state of a stream algorithm: plain arrays, and exactly what an intruder gets to see."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.tls_messages import UINT64, Message, Opaque, Vector

FORMAT = "panapp-stream-state-1"
"""Version of the serialized form."""

SHAPE_TYPE = "<u8"
"""Of the lengths of an array in it."""


class StateFormatError(ValueError):
    """Bytes that are no state of this version."""


@dataclass(frozen=True)
class _EncodedArray(Message):
    name: Annotated[bytes, Opaque(1)]
    dtype: Annotated[bytes, Opaque(1)]
    shape: Annotated[bytes, Opaque(1)]
    data: Annotated[bytes, Opaque(4)]


@dataclass(frozen=True)
class _EncodedState(Message):
    format: Annotated[bytes, Opaque(1)]
    statistic: Annotated[bytes, Opaque(1)]
    announced_intrusions: Annotated[int, UINT64]
    arrays: Annotated[tuple[_EncodedArray, ...], Vector(_EncodedArray, 4)]


@dataclass(eq=False)
class StreamState:
    """Everything that the curator keeps between two items.

    Attributes:
        statistic: registered name of the algorithm.
        announced_intrusions: how many there have been. Not secret: it reveals nothing about the stream.
        arrays: integer arrays by name; their meaning is the algorithm's. Changed in place.
    """

    statistic: str
    announced_intrusions: int = 0
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The whole state; `from_bytes` is the inverse."""
        arrays = tuple(
            _EncodedArray(
                name.encode(),
                array.dtype.str.encode(),
                np.array(array.shape, dtype=SHAPE_TYPE).tobytes(),
                array.tobytes(),
            )
            for name, array in self.arrays.items()
        )
        return _EncodedState(
            FORMAT.encode(), self.statistic.encode(), self.announced_intrusions, arrays
        ).encode()

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            StateFormatError: something else.
        """
        try:
            content = _EncodedState.decode(encoded)
            if content.format != FORMAT.encode():
                raise StateFormatError(f"the format must be {FORMAT}, not {content.format!r}")
            arrays = {
                array.name.decode(): np.frombuffer(array.data, dtype=np.dtype(array.dtype.decode()))
                .reshape(np.frombuffer(array.shape, dtype=SHAPE_TYPE).tolist())
                .copy()
                for array in content.arrays
            }
            return cls(content.statistic.decode(), content.announced_intrusions, arrays)
        # NumPy raises a SyntaxError for some texts that are no type.
        except (TypeError, ValueError, SyntaxError) as error:
            raise StateFormatError(f"not a stream state: {error}") from error
