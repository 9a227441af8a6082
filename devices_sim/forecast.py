"""How long a fleet of values will take: a user may send thousands of encrypted messages."""

from dataclasses import dataclass

MINUTE = 60


@dataclass(frozen=True)
class FleetForecast:
    """The work of the devices.

    Attributes:
        users: number of devices, those included that come too late to count.
        messages: the most that one of them sends.
        seconds: rough wall-clock time until all messages are made and encrypted. Sending them, mixing and
            decrypting come on top.
    """

    users: int
    messages: int
    seconds: float

    @property
    def is_long(self) -> bool:
        """Whether it takes so long that the user should be warned first."""
        return self.seconds > MINUTE / 6  # decrypting, mostly by fewer processes, takes several times as long

    def __str__(self) -> str:
        return (
            f"{self.users:,} users send up to {self.messages:,} messages each: "
            f"{self.users * self.messages:,} encryptions, about {_time(self.seconds)}, and as many "
            "decryptions after that"
        )


def _time(seconds: float) -> str:
    """Rounded: "1 second", "50 seconds", "3 minutes"."""
    amount, unit = (seconds, "second") if seconds < 2 * MINUTE else (seconds / MINUTE, "minute")
    rounded = max(1, round(amount))
    return f"{rounded:,} {unit}{'' if rounded == 1 else 's'}"
