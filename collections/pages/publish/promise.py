"""What a recipe would promise, before anyone publishes it; takes up to seconds, unlike the preview."""

from dataclasses import dataclass, fields
from typing import Any

from pages.words.sentences import GuaranteeText, guarantee_texts, protection_warning, sampling_sentence
from panprivacy.errors import FieldError
from panprivacy.parameters import description_of
from panprivacy.statistic import Statistic
from panprivacy.trust import Trust
from panprivacy.trust_models import under_trust
from recipes.budget import Effect, effect_of


@dataclass(frozen=True)
class Promise:
    """What is promised, and what it costs.

    Attributes:
        guarantees: without those that count on nobody knowing who took part.
        warning: what must be said plainly of the guarantees, or empty.
        sampling: what sampling means for a device, or empty.
        refusal: why it could not be published, where a stated target is missed; else empty.
        effect: on the population's budget; None where no population is chosen.
    """

    guarantees: list[GuaranteeText]
    warning: str
    sampling: str
    refusal: str
    effect: Effect | None


def promise_of(mechanism: Statistic[Any], population: str | None, trust: Trust) -> Promise:
    """What a recipe with this (calibrated) mechanism would promise.

    Raises:
        FieldError: a guarantee cannot be computed, or there is no such population.
    """
    # What counts on nobody knowing who took part takes longer still; the planner shows it.
    guarantees = under_trust(mechanism.guarantees(sampled=False), trust)
    return Promise(
        guarantees=guarantee_texts(guarantees),
        warning=protection_warning(guarantees),
        sampling=sampling_sentence(mechanism.parameters.sampling_rate),
        refusal=_refusal(mechanism),
        effect=None if population is None else effect_of(mechanism, population),
    )


def _refusal(mechanism: Statistic[Any]) -> str:
    try:
        mechanism.require_promise()
    except FieldError as error:
        label = {field.name: description_of(field).label for field in fields(mechanism.parameters)}
        return f"{label[error.field]} {error.message}."
    return ""
