"""What a recipe would promise, before anyone publishes it; takes up to seconds, unlike the preview."""

from dataclasses import dataclass
from typing import Any

from pages.words.sentences import GuaranteeText, guarantee_texts, protection_warning, sampling_sentence
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
        effect: on the population's budget; None where no population is chosen.
    """

    guarantees: list[GuaranteeText]
    warning: str
    sampling: str
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
        effect=None if population is None else effect_of(mechanism, population),
    )
