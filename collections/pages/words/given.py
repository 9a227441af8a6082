"""Texts in which parts are told from what accounts and other servers gave."""

from typing import Self


class Given(str):
    """Text that an account or another server gave: one line, which is escaped and isolated from what is next
    to it."""

    def __new__(cls, text: str) -> Self:
        printable = "".join(each if each.isprintable() else " " for each in text)
        return super().__new__(cls, " ".join(printable.split()))


class Copied(Given):
    """Given text that readers copy: a name, an address or an identifier."""


Text = str | tuple[str, ...]
"""Text without markup, or pieces of one in their order; some are `Given`."""


def pieces(text: Text) -> tuple[str, ...]:
    """The pieces of a text."""
    return (text,) if isinstance(text, str) else text
