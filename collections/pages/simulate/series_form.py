"""The form that simulates a whole series: devices, the share of them with the event, and what goes up."""

import math
from dataclasses import dataclass
from typing import Any

from django import forms

from pages.publish.fields import number_field
from pages.publish.figures import Figures, figures_of
from pages.simulate.forms import PUBLIC, enough_devices
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.series import SeriesDraft
from panprivacy.statistics.intervals.difference import widening
from panprivacy.statistics.intervals.estimate import LEVELS
from publishing import others_of
from recipes.cost import Cost
from simulations.series_simulations import MOST_ROUNDS, POINTS
from simulations.workloads import DEVICES, OPTION, kinds_of
from storage.answers.questions import State

ROUNDS = Description(label="Rounds", help="They run one after the other.", minimum=2, maximum=MOST_ROUNDS)
SHARE, RISE = 5, 20
"""Percent of the devices with the event, and by how many points that goes up if nothing tells what shows."""

TOGETHER = widening(1 - LEVELS[0], 1, 2 * MOST_ROUNDS)
"""By this factor an end lies farther from its estimate if all results hold together, as in `joint_part`."""

MOST_RISE = 90

SOME_DEVICES = 20_000
"""To start with, if more are expected to report: then a round takes seconds."""

SHOWS = "What is suggested shows; less may look like noise."
HIDDEN = "Even this may look like noise: to tell it from noise takes more devices or a larger ε."
UNKNOWN = "What shows is not computed yet. Reload the page to see it."

NOTHING, ALL = "", "*"
"""Choices of what goes up: nothing, or the share of all devices."""


def has_shares(draft: RecipeDraft) -> bool:
    """Whether devices of this recipe have events; FieldError if none take part in it."""
    return OPTION in kinds_of(draft)


@dataclass(frozen=True)
class Suggestion:
    """Devices of a round, and by how many points a share of them goes up.

    Attributes:
        help: whether such a change shows.
    """

    devices: int
    points: float
    help: str


def _suggested(draft: RecipeDraft) -> Suggestion:
    """As many devices as are expected to report, but no more than take seconds, and enough to show each
    segment; and a change that shows, to the next 5 points."""
    statistic, segments = draft.plain_statistic, max(1, len(draft.segments))
    expected = min(draft.plan.population_size or 0, SOME_DEVICES)
    devices = min(max(enough_devices(statistic) * segments, expected), int(DEVICES.maximum or 0))
    figures = figures_of(Cost.of(draft), devices)
    if isinstance(figures, Figures) and not figures.segments_shown and devices < SOME_DEVICES:
        devices = SOME_DEVICES
        figures = figures_of(Cost.of(draft), devices)
    if isinstance(figures, State):
        return Suggestion(devices, RISE, UNKNOWN)
    if figures.share_margin is None:
        return Suggestion(devices, RISE, "")
    visible = 100 * _visible_rise(figures.share_margin / 100)
    if visible > MOST_RISE or not figures.segments_shown:
        return Suggestion(devices, MOST_RISE, HIDDEN)
    return Suggestion(devices, 5 * math.ceil(visible / 5), SHOWS)


def _visible_rise(margin: float) -> float:
    """By how much a share has to go up so that the interval of its change leaves out 0, in all but one of
    1,000 repeats; infinite if no change would do.

    Args:
        margin: the 95% margin of one share.
    """
    share, end = SHARE / 100, TOGETHER * margin
    # Shares are divided by a number of devices that is estimated too, from twice as many coins.
    devices = math.sqrt(2) * end
    if devices >= 1:
        return math.inf
    highest_before = (share + end) / (1 - devices)
    # The difference of two estimates, each with a standard error of margin / 1.96.
    noise = 3 * math.sqrt(2) * margin / 1.96
    return (highest_before + noise) * (1 + devices) + end - share


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
        draft, suggestion = asked.recipe, _suggested(asked.recipe)
        self.segments = draft.segments
        options["initial"] = {
            "rounds": min(max(2, asked.rounds or MOST_ROUNDS), MOST_ROUNDS),
            "devices": suggestion.devices,
            "rises": self.segments[-1] if self.segments else ALL,
            "points": suggestion.points,
        }
        super().__init__(*arguments, **options)
        self.fields["rounds"] = number_field(ROUNDS, int, required=True)
        self.fields["devices"] = number_field(DEVICES, int, required=True)
        self.fields["points"] = number_field(POINTS, float, required=False)
        self.fields["points"].label = "By percentage points"
        self.fields["points"].help_text = suggestion.help
        self.fields["points"].or_else = "if something goes up"  # type: ignore[attr-defined]  # read by field.html
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
