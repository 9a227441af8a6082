"""How whoever asks for a plan keeps the time: the library has no clock."""

from collections.abc import Callable

Checkpoint = Callable[[], None]
"""Called before every computation of some length; whoever has no more time raises `OutOfTimeError`."""


class OutOfTimeError(Exception):
    """Raised by a checkpoint: what is not computed yet stays so."""
