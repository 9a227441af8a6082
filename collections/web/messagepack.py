"""MessagePack from strangers: what is too much of it is refused before it is built.

An empty list takes one byte in a body and sixty in memory, and a list of lists multiplies any limit that each
of them keeps. So all objects and lists of a body are counted together.
"""

from typing import Final

import msgpack

NAME_BYTES = 32
"""Bytes of a name, at most: where every text is one."""

MOST_NAMES = 3
"""Members of one object: no body that is read here has an object with more."""

# First bytes of a list and of an object, by the specification of MessagePack.
_LISTS = frozenset({*range(0x90, 0xA0), 0xDC, 0xDD})
_OBJECTS = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
_CONTAINERS = _LISTS | _OBJECTS

_PLAIN = (str, bytes, bool, int, float, type(None))


class MessagePackError(ValueError):
    """A body that is no MessagePack, or has more in it than is read. The message quotes nothing of it."""


def read_messagepack(body: bytes, *, containers: int, members: int, text_bytes: int) -> object:
    """The one value that a body holds, as plain values: texts, byte strings, numbers, lists, dictionaries.

    Args:
        containers: most objects and lists in the body, however they are nested.
        members: most members of one list.
        text_bytes: most bytes of a text, names included: as text it may take four times as many in memory.

    Raises:
        MessagePackError: something else, or more. No container beyond the limits was built.
    """
    try:
        return _Reader(body, containers, members, text_bytes).whole()
    except MessagePackError:
        raise
    # RecursionError: as many containers as are allowed, each in the one before.
    except (ValueError, RecursionError, msgpack.UnpackException) as error:
        raise MessagePackError(f"not MessagePack: {type(error).__name__}") from None


class _Reader:
    """Goes through the containers itself. The library reads heads and contents, and builds none."""

    def __init__(self, body: bytes, containers: int, members: int, text_bytes: int) -> None:
        self._body = body
        self._left = containers
        self._members: Final = members
        self._unpacker = msgpack.Unpacker(
            raw=False,
            max_buffer_size=max(len(body), 1),
            max_array_len=members,
            max_map_len=MOST_NAMES,
            max_str_len=text_bytes,
            max_ext_len=0,
        )
        self._unpacker.feed(body)

    def whole(self) -> object:
        value = self._value()
        if self._unpacker.tell() != len(self._body):
            raise MessagePackError("there is something behind the value")
        return value

    def _value(self) -> object:
        kind = self._kind()
        if kind in _LISTS:
            length = self._enter(self._unpacker.read_array_header(), self._members)
            return [self._value() for _ in range(length)]
        if kind in _OBJECTS:
            return self._object(self._enter(self._unpacker.read_map_header(), MOST_NAMES))
        return self._plain()

    def _kind(self) -> int | None:
        """The first byte of the next value."""
        place = self._unpacker.tell()
        return self._body[place] if place < len(self._body) else None

    def _plain(self) -> object:
        value: object = self._unpacker.unpack()
        if not isinstance(value, _PLAIN):
            raise MessagePackError("there is a value of an extension")
        return value

    def _object(self, length: int) -> dict[str, object]:
        found: dict[str, object] = {}
        for _ in range(length):
            if self._kind() in _CONTAINERS:
                raise MessagePackError("the members of an object must have names")
            name = self._plain()
            if not isinstance(name, str) or name in found:
                raise MessagePackError("the members of an object must have names, each its own")
            found[name] = self._value()
        return found

    def _enter(self, length: int, most: int) -> int:
        self._left -= 1
        if self._left < 0:
            raise MessagePackError("there are too many objects and lists")
        if length > most:
            raise MessagePackError(f"an object or a list has {length:,} members; at most {most:,} are read")
        return length
