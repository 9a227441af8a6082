"""What devices, or others, send to be counted: every statistic is about one of these."""

from enum import StrEnum


class DeviceInput(StrEnum):
    """The kinds of input. How a statistic is asked, simulated and shown follows from its kind."""

    EVENTS = "events"
    """Each device counts events over steps and keeps them encrypted; then it sends one report."""

    VALUE = "value"
    """Each device has one value, and sends randomized messages about it at once."""

    RANDOMIZED = "randomized"
    """Each device has one value, and sends one randomized report about it."""

    ITEMS = "items"
    """Items arrive at a server one after the other, and are folded into a state."""
