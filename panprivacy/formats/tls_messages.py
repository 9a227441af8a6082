"""How messages are encoded: the presentation language of TLS (RFC 8446, section 3).

A message is a frozen dataclass whose fields name their wire types in the order in which they travel,
so that it reads like the draft's `struct`. Decoding takes exactly the bytes of one message, no more and
no fewer, and every message has one encoding only.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Self, get_origin, get_type_hints


class InvalidMessageError(ValueError):
    """Bytes that are not the message they should be, or values that no such message can hold.

    Attributes:
        message: name of the message, in the spelling of the draft.
        field: name of the offending field; empty for the message as a whole.
    """

    def __init__(self, message: str, field: str, problem: str) -> None:
        super().__init__(f"{message}.{field} {problem}" if field else f"{message} {problem}")
        self.message = message
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.field, self.problem)


class Reader:
    """A position in bytes that end at `end`."""

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self._data = data
        self._position = position
        self._end = end

    @property
    def remaining(self) -> int:
        """Bytes that are still to be read."""
        return self._end - self._position

    def take(self, length: int) -> bytes:
        """The next `length` bytes; ValueError if there are fewer."""
        return self._data[self._advance(length) : self._position]

    def uint(self, width: int) -> int:
        """The next `width` bytes as a big-endian number; ValueError if there are fewer."""
        return int.from_bytes(self.take(width), "big")

    def within(self, length: int) -> "Reader":
        """A reader of the next `length` bytes only; ValueError if there are fewer."""
        start = self._advance(length)
        return Reader(self._data, start, self._position)

    def _advance(self, length: int) -> int:
        if length > self.remaining:
            raise ValueError("is cut short")
        start = self._position
        self._position += length
        return start


class WireType(ABC):
    """How the values of one field are encoded.

    Both methods raise ValueError with the fault as a clause ("is cut short"); the message adds its name and
    the field's.
    """

    @abstractmethod
    def write(self, value: Any) -> bytes:
        """The encoding of `value`."""

    @abstractmethod
    def read(self, reader: Reader) -> Any:
        """The value at the reader's position."""


@dataclasses.dataclass(frozen=True)
class Uint(WireType):
    """`uint8` to `uint64`, in `width` bytes."""

    width: int

    def write(self, value: Any) -> bytes:
        try:
            return int.to_bytes(value, self.width, "big")
        except OverflowError:
            raise ValueError(f"must be 0 to {256**self.width - 1}, not {value}") from None

    def read(self, reader: Reader) -> int:
        return reader.uint(self.width)


UINT8, UINT16, UINT32, UINT64 = Uint(1), Uint(2), Uint(4), Uint(8)


@dataclasses.dataclass(frozen=True)
class Code(WireType):
    """`enum` in one byte; numbers without a name are refused."""

    names: type[IntEnum]

    def write(self, value: Any) -> bytes:
        return bytes((self._known(value),))

    def read(self, reader: Reader) -> IntEnum:
        return self._known(reader.uint(1))

    def _known(self, value: int) -> IntEnum:
        try:
            return self.names(value)
        except ValueError:
            raise ValueError(f"must be a {self.names.__name__}, not {value}") from None


@dataclasses.dataclass(frozen=True)
class FixedLength(WireType):
    """`opaque name[length]`."""

    length: int

    def write(self, value: bytes) -> bytes:
        if len(value) != self.length:
            raise ValueError(f"must have {self.length} bytes, not {len(value)}")
        return value

    def read(self, reader: Reader) -> bytes:
        return reader.take(self.length)


@dataclasses.dataclass(frozen=True)
class Opaque(WireType):
    """`opaque name<minimum..2^(8 width)-1>`: the length in `width` bytes, then that many."""

    width: int
    minimum: int = 0

    def write(self, value: bytes) -> bytes:
        self._check(len(value))
        return len(value).to_bytes(self.width, "big") + value

    def read(self, reader: Reader) -> bytes:
        length = reader.uint(self.width)
        self._check(length)
        return reader.take(length)

    def _check(self, length: int) -> None:
        if not self.minimum <= length < 256**self.width:
            raise ValueError(f"must have {self.minimum} to {256**self.width - 1} bytes, not {length}")


class Url(Opaque):
    """`Url`: ASCII, kept byte for byte."""

    def __init__(self) -> None:
        super().__init__(2, minimum=1)

    def write(self, value: Any) -> bytes:
        if not str.isascii(value):
            raise ValueError("must be ASCII")
        return super().write(value.encode("ascii"))

    def read(self, reader: Reader) -> Any:
        value = super().read(reader)
        if not value.isascii():
            raise ValueError("must be ASCII")
        return value.decode("ascii")


@dataclasses.dataclass(frozen=True)
class NestedMessage(WireType):
    """A nested message, without a length."""

    of: type["Message"]

    def write(self, value: "Message") -> bytes:
        return value.encode()

    def read(self, reader: Reader) -> "Message":
        return self.of.read(reader)


@dataclasses.dataclass(frozen=True)
class Vector(WireType):
    """`Message name<minimum..2^(8 width)-1>`: the length in bytes, then the messages one after another."""

    of: type["Message"]
    width: int
    minimum: int = 0

    def write(self, value: "tuple[Message, ...]") -> bytes:
        return Opaque(self.width, self.minimum).write(b"".join(message.encode() for message in value))

    def read(self, reader: Reader) -> "tuple[Message, ...]":
        length = reader.uint(self.width)
        if length < self.minimum:
            raise ValueError(f"must have at least {self.minimum} bytes, not {length}")
        return Rest(self.of).read(reader.within(length))


@dataclasses.dataclass(frozen=True)
class Rest(WireType):
    """`Message name[message_length]`: messages one after another, to the end of the content."""

    of: type["Message"]

    def write(self, value: "tuple[Message, ...]") -> bytes:
        return b"".join(message.encode() for message in value)

    def read(self, reader: Reader) -> "tuple[Message, ...]":
        found = []
        while reader.remaining:
            found.append(self.of.read(reader))
        return tuple(found)


@dataclasses.dataclass(frozen=True)
class Select(WireType):
    """`select`: one byte that selects the message that follows."""

    cases: Mapping[int, type["Message"]]

    def write(self, value: "Message") -> bytes:
        for number, case in self.cases.items():
            if type(value) is case:
                return bytes((number,)) + value.encode()
        raise ValueError(f"must be one of {', '.join(case.__name__ for case in self.cases.values())}")

    def read(self, reader: Reader) -> "Message":
        number = reader.uint(1)
        if number not in self.cases:
            raise ValueError(f"must be of type {', '.join(map(str, self.cases))}, not {number}")
        return self.cases[number].read(reader)


@dataclasses.dataclass(frozen=True)
class Message:
    """Base of all messages; its `struct` is the fields of the subclass, each annotated with its wire type:
    `start: Annotated[int, UINT64]`.

    A subclass whose fields must fit together overrides `check`.
    """

    struct: ClassVar[tuple[tuple[str, WireType], ...]] = ()
    """Names and wire types of the fields, in the order in which they travel."""

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls, include_extras=True)
        cls.struct = tuple(
            (name, hint.__metadata__[0]) for name, hint in hints.items() if get_origin(hint) is Annotated
        )

    def check(self) -> None:
        """Raise InvalidMessageError if the fields, each valid alone, do not fit together. Called ahead of
        encoding and after decoding."""
        return

    def encode(self) -> bytes:
        """The one encoding; InvalidMessageError if a value does not fit its field."""
        self.check()
        parts = []
        for name, type_ in self.struct:
            try:
                parts.append(type_.write(getattr(self, name)))
            except InvalidMessageError:
                raise
            except ValueError as error:
                raise self.refusal(name, str(error)) from None
        return b"".join(parts)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidMessageError for anything that `encode` does not produce."""
        reader = Reader(encoded, 0, len(encoded))
        message = cls.read(reader)
        if reader.remaining:
            raise cls.refusal("", f"is followed by {reader.remaining} bytes too many")
        return message

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """The message at the reader's position; bytes after it are left unread."""
        values = []
        for name, type_ in cls.struct:
            try:
                values.append(type_.read(reader))
            except InvalidMessageError:
                raise
            except ValueError as error:
                raise cls.refusal(name, str(error)) from None
        message = cls(*values)
        message.check()
        return message

    @classmethod
    def refusal(cls, field: str, problem: str) -> InvalidMessageError:
        """The error that names this message and `field`; `problem` describes the fault, as a clause."""
        return InvalidMessageError(cls.__name__, field, problem)
