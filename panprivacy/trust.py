"""Between how many servers a recipe divides what devices send."""

from enum import StrEnum


class Trust(StrEnum):
    """The trust models. A meaning never changes in place; a new model is a new member."""

    SINGLE_SERVER = "single_server"
    """One server decrypts every report (LPP section 4)."""

    TWO_SERVER = "two_server"
    """Two servers hold one share each of every report, and add up what neither can read (LPP section 5)."""
