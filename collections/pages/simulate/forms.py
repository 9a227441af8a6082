"""The form of a simulation: the fields of one workload, who may see it, and a seed."""

from typing import Any

from django import forms

from pages.publish.fields import number_field
from panprivacy.formats.csv_table import header_text
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.interface import Statistic
from publishing import others_of
from simulations.workloads import CSV_BYTES, DEVICES, RANDOM, SEED, SHARES, WEIGHTS, header_of, kinds_of
from web.numbers import number

KINDS = {
    "bernoulli": "Random events",
    "poisson": "Several events a step",
    "flights": "Aircraft of 2013",
    "events": "A CSV file",
    "values": "A CSV file",
    SHARES: "A share of the devices",
}
"""Kinds of workload, as the form and the page of a simulation name them."""

PUBLIC = "Its question and its result stay public for good. Otherwise only analysts of this site see them."


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


def enough_devices(statistic: Statistic[Any]) -> int:
    """Of which a cohort takes part, and more than some hundreds."""
    parameters = statistic.parameters
    devices: int = round(1.1 * max(1_000, parameters.cohort_size) / parameters.sampling_rate)
    return devices


class SimulationForm(forms.Form):
    """What `simulation_start` needs besides the recipe: the fields of one kind of workload.

    Args:
        draft: of the recipe; FieldError if no devices take part in it.
        kind: of the workload; the recipe's first one if it has no such kind.
        public: whether the simulation of it is public unless the reader decides otherwise.
    """

    kind = forms.ChoiceField(widget=forms.HiddenInput)
    csv = forms.CharField(
        label="CSV",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off"}),
    )
    weights = forms.CharField(
        label=WEIGHTS.label,
        required=False,
        max_length=400,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "text"}),
    )
    public = forms.BooleanField(label="Make it public", required=False, help_text=PUBLIC)
    seed = forms.IntegerField(
        label=SEED.label,
        required=False,
        min_value=int(SEED.minimum or 0),
        max_value=int(SEED.maximum or 0),
        help_text=f"{SEED.help} Leave it empty for a random one.",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )

    def __init__(
        self,
        *arguments: Any,
        draft: RecipeDraft,
        kind: str = "",
        public: bool = False,
        **options: Any,
    ) -> None:
        self.kinds = kinds_of(draft)
        self.shown_kind = kind if kind in self.kinds else self.kinds[0]
        options["initial"] = {
            "kind": self.shown_kind,
            "devices": min(enough_devices(draft.plain_statistic), 1_000_000),
            "rate": 0.05,
            "public": public,
            **options.get("initial", {}),
        }
        super().__init__(*arguments, **options)
        field = self.fields["kind"]
        if not isinstance(field, forms.ChoiceField):
            raise TypeError("kind is a choice")
        field.choices = [(one, KINDS[one]) for one in self.kinds]
        if self.shown_kind in RANDOM:
            self.fields["devices"] = number_field(DEVICES, int, required=True)
            self.fields["rate"] = number_field(RANDOM[self.shown_kind], float, required=True)
            # From nothing to a million, and mostly below 1: no slider shows that.
            self.fields["rate"].widget.attrs.pop("data-slider", None)
        if self.shown_kind in (*RANDOM, "flights"):
            del self.fields["csv"]
        else:
            header = header_text(header_of(draft))
            self.fields["csv"].help_text = (
                f"Paste the file. Its header is {header}{_segment(draft)}; at most "
                f"{number(CSV_BYTES // 1024**2)} MiB."
            )
        self.fields["weights"].help_text = f"{WEIGHTS.help} The order is {', '.join(draft.segments)}."
        if not draft.segments:
            del self.fields["weights"]
        if others := others_of(draft):
            self.fields["public"].help_text = f"It must be: {others}, whose log is public. {PUBLIC}"
        self.order_fields(("kind", "devices", "rate", "csv", "weights", "public", "seed"))

    @property
    def devices(self) -> int | None:
        """The number of random devices that the form shows; None of other workloads, or if it is none."""
        if "devices" not in self.fields:
            return None
        try:
            return int(DEVICES.check("devices", int, int(self["devices"].value())))
        except (FieldError, TypeError, ValueError):
            return None

    def workload(self) -> dict[str, Any]:
        """The workload of a valid form."""
        cleaned = self.cleaned_data
        names = [name for name in ("devices", "rate", "csv") if name in self.fields]
        workload = {name: cleaned[name] for name in ("kind", *names)}
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
