"""Lengths that reveal nothing: every request of a recipe has one of three.

Binary HTTP ends with as many zeros as one likes (RFC 9292, section 3.8).
"""

from bisect import bisect_left

CLASSES = (1024, 4 * 1024, 32 * 1024)
"""Bytes of a padded message."""


class TooLongError(ValueError):
    """A message that is longer than the longest class."""


def padded(message: bytes, at_least: int = 0) -> bytes:
    """The message with zeros up to the shortest class that holds it.

    Args:
        message: encoded binary HTTP.
        at_least: the length of the longest message, if messages of several lengths must be indistinguishable.

    Raises:
        TooLongError: it, or `at_least`, is beyond the longest class.
    """
    return message.ljust(class_of(max(len(message), at_least)), b"\0")


def padded_answer(message: bytes) -> bytes:
    """An answer with zeros up to a class, or to a multiple of the longest one: what is public may be long."""
    longest = CLASSES[-1]
    length = class_of(len(message)) if len(message) <= longest else -(-len(message) // longest) * longest
    return message.ljust(length, b"\0")


def class_of(length: int) -> int:
    """The class of a message of this length; TooLongError beyond the longest."""
    index = bisect_left(CLASSES, length)
    if index == len(CLASSES):
        raise TooLongError(f"must have at most {CLASSES[-1]} bytes, not {length}")
    return CLASSES[index]
