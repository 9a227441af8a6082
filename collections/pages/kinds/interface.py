"""How statistics about one kind of input are offered, and what their forms and pages are about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from pages.publish.device_preview import DevicePreview
from pages.publish.shuffle_preview import ShufflePreview
from pages.publish.stream_preview import StreamPreview
from pages.words.plan import Planned
from panprivacy.accounting.trust import Trust
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS
from recipes.models import Recipe

Groups = tuple[tuple[str, tuple[str, ...]], ...]
Preview = DevicePreview | ShufflePreview | StreamPreview


def no_section(request: HttpRequest, recipe: Recipe) -> dict[str, Any]:
    """There is nothing to add to a page."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Statistics about one kind of input, and how they are offered and shown.

    Attributes:
        key: names it in addresses and templates.
        title, summary: how it is offered in the list of all.
        sent: what devices do in a published recipe, in sentences; `{duration}` for how long.
        collected: statistic → what one report or item is about, as a clause; `*` for all others.
        device_input: what is sent to be counted.
        groups: headings of the form with the fields below each; `*` means the fields that only the chosen
            statistic has.
        help: field → its explanation in the form.
        suggested: field → the initial value of a new recipe, or the nearest allowed one, if it differs from
            the usual one.
        reader: what the adversary reads against whom a budget protects, as an object.
        replacement: what is replaced by what in the meaning of a budget.
        senders: whose contributions are collected, in the plural.
        public: what becomes public of a recipe, as a heading.
        about_population: what its population is, in a sentence.
        published, closed: what follows once a recipe is published or closed, in a sentence.
        preview: a calibrated statistic and the number of devices that hear of the recipe, or None → what to
            expect.
        shows_planned: a statistic, the plan that was stated and its margin (`recipes.numbers`) → the error
            that was to be expected.
        section: what pages of its recipes show in addition to the common parts.
    """

    key: str
    title: str
    summary: str
    sent: str
    collected: Mapping[str, str]
    device_input: DeviceInput
    groups: Groups
    help: Mapping[str, str]
    suggested: Mapping[str, float | str]
    reader: str
    replacement: str
    senders: str
    public: str
    about_population: str
    published: str
    closed: str
    preview: Callable[[Any, Any], Preview]
    shows_planned: Callable[[Any, RecipePlan, float], Planned]
    section: Callable[[HttpRequest, Recipe], dict[str, Any]] = no_section

    def planned_with(
        self, statistic: Statistic[Any], plan: RecipePlan, margin: float | None
    ) -> Planned | None:
        """The error that was to be expected; None if none can be computed beforehand."""
        return None if margin is None else self.shows_planned(statistic, plan, margin)

    def collected_by(self, statistic: str) -> str:
        """What one report or item of a statistic is about, as a clause."""
        return self.collected.get(statistic) or self.collected["*"]

    @property
    def statistics(self) -> dict[str, type[Statistic[Any]]]:
        """Registered name → class."""
        return {
            name: statistic
            for name, statistic in STATISTICS.items()
            if statistic.device_input == self.device_input
        }

    @property
    def simulated(self) -> bool:
        """Whether there are devices that can be simulated."""
        return self.device_input.has_devices

    @property
    def trusts(self) -> tuple[Trust, ...]:
        """The trust models to choose from."""
        return tuple(
            servers.trust for servers in TRUST_MODELS.values() if self.device_input in servers.device_inputs
        )


PART_OF_DELTA = "1e-7"
"""A δ with which several recipes fit the usual budget's δ of 1e-6: what is proved of these statistics may
fail altogether, with probabilities that add up."""

DEVICES_ASKED = "Recipes that ask the same devices share a privacy budget."
RESULTS_ONLY = "every combined result and nothing else"

ONE_HISTORY = "one device's whole history by any other, while no other device colludes with that reader"
