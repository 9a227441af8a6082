"""The form that simulates a whole series: devices, the share of them with the event, and what goes up."""

import math
from typing import Any

from django import forms

from pages.publish.fields import number_field
from pages.simulate.forms import PUBLIC, enough_devices
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.planning.expectation import MISSED, shown_margin
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.series import SeriesDraft
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from publishing import others_of
from simulations.series_simulations import MOST_ROUNDS, POINTS
from simulations.workloads import DEVICES, OPTION, kinds_of

ROUNDS = Description(label="Rounds", help="They run one after the other.", minimum=2, maximum=MOST_ROUNDS)
SHARE, RISE = 5, 20
"""Percent of the devices with the event, and by how many points that goes up if nothing tells what shows."""

VISIBLE_MARGINS = (2 * 3.5 + 3 * math.sqrt(2)) / 1.96
"""A change of this number of 95% margins shows with 99.9%. Its interval has the margins of both rounds, each
of 3.5 standard errors if some hundreds hold together; and the difference varies by 3 times √2 of them."""

MOST_RISE = 90

SOME_DEVICES = 20_000
"""To start with, if more are expected to report: then a round takes seconds."""

NOTHING, ALL = "", "*"
"""Choices of what goes up: nothing, or the share of all devices."""


def has_shares(draft: RecipeDraft) -> bool:
    """Whether devices of this recipe have events; FieldError if none take part in it."""
    return OPTION in kinds_of(draft)


def _devices(statistic: Statistic[Any], expected: int, segments: int) -> int:
    """As many as are expected to report, but no more than take seconds, and enough to show each segment."""
    devices = max(enough_devices(statistic) * segments, min(expected, SOME_DEVICES))
    segmentation = statistic.segmentation if isinstance(statistic, CohortStatistic) else None
    while segmentation and not segmentation.expected(devices, MISSED).shown and devices < SOME_DEVICES:
        devices *= 2
    return min(devices, int(DEVICES.maximum or 0))


def _visible_rise(statistic: Statistic[Any], devices: int) -> int:
    """By how many points a share of these devices has to go up to show, to the next 5."""
    if not isinstance(statistic, CohortStatistic) or not statistic.counts_devices:
        return RISE
    if statistic.segmentation is None:
        margin = shown_margin(statistic, devices)
    else:
        margin = statistic.segmentation.expected(devices, MISSED).margin_points
    return min(MOST_RISE, 5 * math.ceil(VISIBLE_MARGINS * margin / 5))


class SeriesSimulationForm(forms.Form):
    """What `series_simulation_start` needs besides the series.

    Args:
        asked: the series.
    """

    shares = forms.CharField(
        label="Devices with the event, in percent",
        max_length=400,
        initial=str(SHARE),
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "decimal"}),
    )
    rises = forms.ChoiceField(label="Goes up in the last round", required=False)
    public = forms.BooleanField(label="Make it public", required=False, help_text=PUBLIC)

    def __init__(self, *arguments: Any, asked: SeriesDraft, **options: Any) -> None:
        draft, statistic = asked.recipe, asked.recipe.plain_statistic
        self.segments = draft.segments
        devices = _devices(statistic, draft.plan.population_size or 0, max(1, len(self.segments)))
        suggested = {
            "rounds": min(max(2, asked.rounds or MOST_ROUNDS), MOST_ROUNDS),
            "devices": devices,
            "rises": self.segments[-1] if self.segments else ALL,
            "points": _visible_rise(statistic, devices),
        }
        super().__init__(*arguments, initial=suggested, **options)
        self.fields["rounds"] = number_field(ROUNDS, int, required=True)
        self.fields["devices"] = number_field(DEVICES, int, required=True)
        self.fields["points"] = number_field(POINTS, float, required=False)
        self.fields["points"].label = "By percentage points"
        self.fields["points"].help_text = "What is suggested shows; less may look like noise."
        rises = self.fields["rises"]
        if not isinstance(rises, forms.ChoiceField):
            raise TypeError("rises is a choice")
        named = [(label, label) for label in self.segments] or [(ALL, "The share of all devices")]
        rises.choices = [(NOTHING, "Nothing"), *named]
        if self.segments:
            self.fields["devices"].help_text = "In each round, spread evenly over the segments."
            self.fields[
                "shares"
            ].help_text = f"One number, or one for each segment in the order {', '.join(self.segments)}."
        else:
            self.fields["devices"].help_text = "In each round."
        if others := others_of(draft):
            self.fields["public"].help_text = f"It must be: {others}, whose log is public. {PUBLIC}"
        self.order_fields(("rounds", "devices", "shares", "rises", "points", "public"))

    def count(self, name: str, typed: Any, most: int) -> int:
        """What was typed at a field if it is a whole number from 1 to `most`, otherwise what is suggested."""
        try:
            value = int(typed)
        except (TypeError, ValueError):
            value = 0
        return value if 1 <= value <= most else int(self.initial[name])

    def clean_shares(self) -> list[float]:
        """Fractions; ValidationError for what is no number."""
        parts = self.cleaned_data["shares"].replace("%", " ").replace(";", " ").split()
        try:
            return [float(part.rstrip(",")) / 100 for one in parts for part in one.split(",") if part]
        except ValueError:
            raise forms.ValidationError("Must be numbers such as 5, or 5 5 8.") from None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("rises") and cleaned.get("points") is None and "points" not in self.errors:
            self.add_error("points", "Fill it in, or let nothing go up.")
        return cleaned

    def workload(self) -> dict[str, Any]:
        """The workload of a valid form."""
        cleaned = self.cleaned_data
        workload = {name: cleaned[name] for name in ("devices", "shares")}
        if cleaned["rises"]:
            named = {"segment": cleaned["rises"]} if self.segments else {}
            workload["rises"] = {**named, "points": cleaned["points"]}
        return workload

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal at its field, or above the form if there is none."""
        name = error.field.removeprefix("workload.").removeprefix("rises.")
        if name == "shares":
            self.add_error(name, "Must be from 0 to 100, one number or one for each segment.")
        elif name in self.fields:
            self.add_error(name, sentence(error.message))
        else:
            self.add_error(None, f"{error}.")
