"""The parameters of `rare_categories`, and the rates that follow from them (SAA section 3.1)."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.randomized.categories import CategoriesParameters

LARGEST_SEEN_RATE = 0.99
"""Of devices with another category than the default, under `relayed`. At 1 they would send for certain, and
the number of reports show each of them (docs/errata.md)."""

SMALLEST_SHARE, LARGEST_SHARE = 1e-6, 0.5
"""γ, the part of the devices that has another category than the default."""

_ROUNDING = 1e-12


class Participation(StrEnum):
    """The method that hides which devices count."""

    COVER = "cover"
    """Every device sends a report, whether it counts or not."""

    RELAYED = "relayed"
    """Only devices that count send, through a relay, each with a token."""


@dataclass(frozen=True, kw_only=True)
class RareCategoriesParameters(CategoriesParameters):
    """The parameters of `categories`, and those that determine the rates."""

    participation: str = described(
        label="Participation",
        help="Every device sends a report of the same size (cover), or only those that count send, through a "
        "relay and with a token (relayed).",
        choices=tuple(way.value for way in Participation),
    )
    devices: int = described(
        label="Devices (N)",
        help="The rates, and if relayed the guarantee, are computed for these; “Devices that will hear of "
        "it” changes only the errors shown.",
        minimum=2,
        maximum=1_000_000_000,
        suggested=10_000,
    )
    counted_devices: int = described(
        label="Devices that count (M)",
        help="Number of devices that are to count: half with the default, half with another category.",
        minimum=1,
        maximum=1_000_000_000,
        suggested=800,  # so that the others count with 0.8: single reports gain (docs/recipes.md)
    )
    rare_share: float = described(
        label="Share with another category (γ)",
        help="Estimated share of devices with a category other than the default. A wrong estimate costs "
        "precision, and no privacy.",
        minimum=SMALLEST_SHARE,
        maximum=LARGEST_SHARE,
        suggested=0.05,
    )
    default_rate: float | None = described(
        label="Rate of the default",
        help="Probability with which a device with the default counts: M/2N.",
        minimum=1e-6,
        maximum=1,
        derived=True,
        default=None,
    )
    other_rate: float | None = described(
        label="Rate of other categories",
        help=f"Probability with which any other device counts: M/2γN, at most 1, or {LARGEST_SEEN_RATE} if "
        "relayed.",
        minimum=1e-6,
        maximum=1,
        derived=True,
        default=None,
    )

    @property
    def rates(self) -> tuple[float, float]:
        """Of the default and of any other category; FieldError while they have not been derived."""
        if self.default_rate is None or self.other_rate is None:
            raise FieldError("default_rate", "has not been derived yet; use what `calibrated()` returns")
        return self.default_rate, self.other_rate

    @property
    def needs_relay(self) -> str:
        if self.participation != Participation.RELAYED:
            return ""
        return (
            "if participation is relayed, whether a device sends tells something of its category; choose "
            "cover, or have tokens and a relay"
        )

    def calibrated(self) -> Self:
        """With the rates of SAA section 3.1, and the largest number of ones as in `categories`.

        Raises:
            FieldError: more devices are to count than there are, or fewer than one in a million; or devices
                are sampled in addition, although the rates already sample.
        """
        default, other = self._rates()
        return replace(super().calibrated(), default_rate=default, other_rate=other)

    def _rates(self) -> tuple[float, float]:
        default = self.counted_devices / self.devices / 2
        if not 1e-6 <= default <= 0.5:
            least, most = math.ceil(2e-6 * self.devices), self.devices
            raise FieldError(
                "counted_devices",
                f"must be from {least:,} to {most:,} for {self.devices:,} devices, not "
                f"{self.counted_devices:,}",
            )
        highest = 1.0
        if self.participation == Participation.RELAYED:
            highest = LARGEST_SEEN_RATE
            if self.sampling_rate != 1:
                raise FieldError(
                    "sampling_rate",
                    "must be 1 if participation is relayed: then the rates of the categories sample, "
                    f"and not {self.sampling_rate:g}",
                )
        return default, min(default / self.rare_share, highest)

    def require_promise(self) -> None:
        """FieldError as for `categories`, or if the rates do not follow from the others."""
        super().require_promise()
        for name, stated, follows in zip(
            ("default_rate", "other_rate"), self.rates, self._rates(), strict=True
        ):
            if not math.isclose(stated, follows, rel_tol=_ROUNDING):
                raise FieldError(name, f"must be {follows!r} as the others are, not {stated!r}")
