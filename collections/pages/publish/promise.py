"""What a recipe would promise, before publication; takes up to seconds, unlike the preview."""

from dataclasses import dataclass
from typing import Any

from pages.words.sentences import GuaranteeText, guarantee_texts, protection_warning, sampling_sentence
from panprivacy.accounting.trust import Trust
from panprivacy.statistics.events.cohort import open_guarantees
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import under_trust
from recipes.budget import Effect, effect_of


@dataclass(frozen=True)
class Promise:
    """What is promised, and what it costs.

    Attributes:
        guarantees: without those that rely on participation being secret.
        warning: a warning about the guarantees, or empty.
        sampling: what sampling means for a device, or empty.
        effect: on the population's budget; None if no population is chosen.
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
    # Guarantees that rely on participation being secret take longer still; the planner shows them.
    guarantees = under_trust(open_guarantees(mechanism), trust)
    return Promise(
        guarantees=guarantee_texts(guarantees),
        warning=protection_warning(guarantees),
        sampling=sampling_sentence(mechanism.parameters.sampling_rate),
        effect=None if population is None else effect_of(mechanism, population),
    )
