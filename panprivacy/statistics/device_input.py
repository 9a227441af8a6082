"""The input of statistics, from devices or other senders: every statistic has one of these types."""

from enum import StrEnum
from typing import Self


class DeviceInput(StrEnum):
    """The types of input. The type decides how a statistic is asked, simulated and shown.

    Attributes:
        has_devices: whether devices take part.
        takes_steps: whether these keep an encrypted state over steps, and report once at the end; others keep
            nothing.
    """

    has_devices: bool
    takes_steps: bool

    def __new__(cls, name: str, has_devices: bool, takes_steps: bool) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.has_devices = has_devices
        member.takes_steps = takes_steps
        return member

    EVENTS = "events", True, True
    """Each device counts events over steps and keeps them encrypted; then it sends one report."""

    VALUE = "value", True, False
    """Each device has one value, and sends randomized messages about it immediately."""

    RANDOMIZED = "randomized", True, False
    """Each device has one value, and sends one randomized report about it."""

    ITEMS = "items", False, False
    """Items arrive at a server one after the other, and are folded into a state."""

    @property
    def is_one_value(self) -> bool:
        """Whether each device has one value, which it sends immediately."""
        return self.has_devices and not self.takes_steps
