"""The form of a simulation: which devices, how many, and a seed."""

from typing import Any

from django import forms

from pages.publish.fields import number_field
from panprivacy.formats.csv_table import header_text
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.interface import Statistic
from simulations.workloads import CSV_BYTES, DEVICES, RANDOM, SEED, WEIGHTS, header_of, kinds_of
from web.numbers import number

KINDS = {
    "bernoulli": "Random events: each step has one with a fixed probability",
    "poisson": "Random events: a mean number in each step",
    "flights": "Aircraft: real data of January 2013",
    "events": "A CSV file of events",
    "values": "A CSV file of values",
}

RATE = Description(
    label="Rate",
    help="For random events: the probability of one in a step, or their mean number in a step.",
    minimum=0,
    maximum=RANDOM["poisson"].maximum,
)


def _segment(draft: RecipeDraft) -> str:
    """The optional column of a file that names the segment of each device."""
    if not draft.segments:
        return ""
    return ", or with the column segment after these; without it, devices are spread evenly over all segments"


def _number(text: str) -> float | str:
    """The number that was typed; what is none stays text, so that the refusal repeats it."""
    try:
        return float(text)
    except ValueError:
        return text


class SimulationForm(forms.Form):
    """What `simulation_start` needs besides the recipe.

    Args:
        draft: of the recipe; FieldError if no devices take part in it.
        statistic: the draft's, calibrated.
    """

    kind = forms.ChoiceField(label="Workload")
    devices = number_field(DEVICES, int, required=False)
    rate = number_field(RATE, float, required=False)
    csv = forms.CharField(
        label="CSV",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off"}),
    )
    weights = forms.CharField(
        label=WEIGHTS.label,
        required=False,
        max_length=400,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "text"}),
    )
    seed = forms.IntegerField(
        label=SEED.label,
        required=False,
        min_value=int(SEED.minimum or 0),
        max_value=int(SEED.maximum or 0),
        help_text=f"{SEED.help} Leave it empty for a random one.",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )

    def __init__(
        self, *arguments: Any, draft: RecipeDraft, statistic: Statistic[Any], **options: Any
    ) -> None:
        kinds = kinds_of(draft, statistic)
        parameters = statistic.parameters
        enough = max(1_000, parameters.cohort_size) / parameters.sampling_rate
        options["initial"] = {"devices": min(round(1.1 * enough), 1_000_000), "rate": 0.05}
        super().__init__(*arguments, **options)
        self.fields["devices"].help_text = f"For random events: {self.fields['devices'].help_text}"
        # From nothing to a million, and mostly below 1: no slider shows that.
        self.fields["rate"].widget.attrs.pop("data-slider", None)
        field = self.fields["kind"]
        if not isinstance(field, forms.ChoiceField):
            raise TypeError("kind is a choice")
        field.choices = [(kind, KINDS[kind]) for kind in kinds]
        header = header_text(header_of(draft, statistic))
        self.fields["csv"].help_text = (
            f"For a CSV file: paste it here. Its header is {header}{_segment(draft)}; at most "
            f"{number(CSV_BYTES // 1024**2)} MiB."
        )
        self.fields["weights"].help_text = f"{WEIGHTS.help} The order is {', '.join(draft.segments)}."
        if not draft.segments:
            del self.fields["weights"]
        if not set(kinds) & set(RANDOM):
            del self.fields["devices"], self.fields["rate"]

    def workload(self) -> dict[str, Any]:
        """The workload of a valid form, with what belongs to its kind only."""
        cleaned = self.cleaned_data
        names = ("devices", "rate") if cleaned["kind"] in RANDOM else ("csv",)
        workload = {"kind": cleaned["kind"]}
        if cleaned["kind"] != "flights":
            workload |= {name: cleaned[name] for name in names}
        if cleaned.get("weights"):
            workload["weights"] = [_number(part) for part in cleaned["weights"].replace(",", " ").split()]
        return workload

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field, or above the form if there is none."""
        name = error.field.removeprefix("workload.")
        if name in self.fields:
            self.add_error(name, sentence(error.message))
        else:
            self.add_error(None, f"{error}.")
