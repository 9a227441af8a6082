"""The form that asks a draft in rounds, one after the other, and what is to be expected of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils import timezone

from ledger.selectors import population_named
from pages.publish.fields import number_field
from pages.publish.forms import recipe_form_class
from pages.words.sentences import RELATION_NAMES, GuaranteeText, guarantee_texts
from panprivacy.formats.display import duration, duration_and_seconds, sentence
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import NO_LOCAL_LIMIT
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.draft import DONATION_ROUNDS, ROUND_SECONDS, ROUNDS, RoundsDraft
from panprivacy.recipe.rounds.privacy import DonationAmplification
from panprivacy.statistics.catalogue import statistic_class
from recipes.budget import Effect, effect_from, effect_question
from recipes.cost import Cost
from recipes.operations import site_limits
from recipes.planner.guarantees import guaranteed, guarantees_question
from storage.answers.questions import State, ask_all

NEITHER = "Fill in this or “Donation rounds”."
BOTH = "Fill in either “Rounds” or “Donation rounds”, not both."

DAY = 86_400


def suggested_seconds(members: Mapping[str, Any]) -> int:
    """For a round of a stored draft: its steps, and a day for reports to come in."""
    try:
        recipe = RecipeDraft.from_mapping(members)
    except FieldError:  # drafted with another version; the error is shown when it is published
        return DAY
    return int(recipe.steps_duration.total_seconds()) + DAY


class RoundsForm(forms.Form):
    """How many rounds, and how long each is open. Once it is valid, `draft` is what they ask."""

    draft: RoundsDraft

    rounds = number_field(ROUNDS, int, required=False)
    donation_rounds = number_field(DONATION_ROUNDS, int, required=False)
    round_seconds = number_field(ROUND_SECONDS, int, required=True)
    public_input = forms.BooleanField(
        label="Each round waits for its public input",
        required=False,
        help_text="For example a model that the devices of a round improve. You publish it through the API.",
    )

    def __init__(self, *arguments: Any, members: dict[str, Any], **options: Any) -> None:
        """
        Args:
            members: of the stored draft. Its closing time is left out, because each round has its own; with
                donation rounds its sampling rate too, because that follows from their number.
        """
        super().__init__(*arguments, **options)
        self.asked = {name: value for name, value in members.items() if name != "closes_at"}
        suggested = suggested_seconds(self.asked)
        self.fields["round_seconds"].initial = suggested
        steps = f"the steps take {duration(suggested - DAY)}" if suggested > DAY else "there are no steps"
        said = f" Suggested: {duration_and_seconds(suggested)}; {steps}, and a day is left for reports."
        self.fields["round_seconds"].help_text += said
        for name, other in (("rounds", "Donation rounds"), ("donation_rounds", "Rounds")):
            # One of both is needed, and no more.
            self.fields[name].or_else = f"this or “{other}”"  # type: ignore[attr-defined]  # read by field.html
        self.fields[
            "donation_rounds"
        ].help_text += " The sampling rate of the draft does not count then: it is 1/m."

    def members(self) -> dict[str, Any]:
        """The file of the recipe in rounds."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in (None, False)}
        without = {"sampling_rate"} if "donation_rounds" in given else set()
        return {name: value for name, value in self.asked.items() if name not in without} | given

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            given = [cleaned[name] for name in ("rounds", "donation_rounds") if cleaned[name] is not None]
            if len(given) != 1:
                self.add_error("rounds", BOTH if given else NEITHER)
        if not self.errors:
            try:
                self.draft = RoundsDraft.from_mapping(self.members())
            except FieldError as error:
                self.add_refusal(error)
        return cleaned

    def add_refusal(self, error: FieldError) -> None:
        """Show a refusal at its field, or above all with the label that it has in the form of a recipe."""
        if error.field in self.fields:
            self.add_error(error.field, sentence(error.message))
        else:
            form = recipe_form_class(statistic_class(self.asked.get("statistic")))
            self.add_error(None, form.refusal(error))


@dataclass(frozen=True)
class RoundsPreview:
    """What all rounds together promise and cost.

    Attributes:
        draft: what is asked.
        rounds: their number.
        seconds: for which all rounds are open, one after the other; from the first opening to the last end,
            if they open by the clock.
        guarantees: for all of them together; for each, if they open by the clock.
        effect: on the population's budget, in which all of them are one line.
        donation: appendix A's numbers; None if devices may give in several rounds.
        donation_relation: the name of their neighbouring relation.
        local_limit: this site's largest local ε of a recipe, so of each round; None if it has none, or if a
            device gives in one round.
    """

    draft: Repetition
    rounds: int
    seconds: int
    guarantees: list[GuaranteeText]
    effect: Effect
    donation: DonationAmplification | None
    donation_relation: str
    local_limit: float | None


def rounds_preview(draft: Repetition) -> RoundsPreview | State:
    """What is to be expected of a series or a recipe in rounds, or why that is not known.

    Raises:
        FieldError: the parameters cannot be met, or there is no such population.
    """
    openings = draft.openings(timezone.now())
    cost = Cost.of(draft, times=1 if draft.shared_line else len(openings))
    population = population_named(draft.recipe.population)
    asked = draft if isinstance(draft, RoundsDraft) else draft.recipe
    # Together, so that they share one deadline.
    _, answer = ask_all([guarantees_question(asked), effect_question(cost, population)])
    found = guaranteed(asked=asked)
    effect = effect_from(answer, population)
    if isinstance(found, State):
        return found
    if effect.state is not State.COMPLETE:
        return effect.state
    statistic = found.settled(draft.recipe).calibrated
    limit = site_limits().largest_local_epsilon
    several = isinstance(draft, RoundsDraft) and not draft.once
    if isinstance(draft, RoundsDraft):
        rounds, seconds = draft.rounds, draft.rounds * draft.round_seconds
    else:
        rounds = len(openings)
        seconds = round((draft.closes(openings[-1]) - openings[0]).total_seconds())
    return RoundsPreview(
        draft=draft,
        rounds=rounds,
        seconds=seconds,
        guarantees=guarantee_texts(found.guarantees),
        effect=effect,
        donation=found.donation,
        donation_relation=""
        if found.donation is None
        else RELATION_NAMES[statistic.aggregator_event().neighbours],
        local_limit=limit if several and limit < NO_LOCAL_LIMIT else None,
    )
