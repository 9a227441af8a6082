"""The proved bound next to a number that belongs to the worst case found: the upper end of its bracket."""

from dataclasses import replace

from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampled


def proved_bound(event: PrivacyEvent) -> PrivacyEvent | None:
    """An event that bounds `event` by proof: itself if it is proved, None if none is known.

    - Of a sum of bits over a sample, what `RandomizedResponseSum.proved_delta` proves.
    - Replacing a one-hot vector changes two coordinates, whose sums are independent given all inputs; each
      is a sum of randomized responses.
    """
    if event.proved:
        return event
    if isinstance(event, RandomizedResponseSum):
        everybody = RandomizedResponseSum(n=event.n, epsilon0=event.epsilon0)
        return Sampled(event=everybody, n=event.n, sampling_rate=event.sampling_rate)
    if isinstance(event, OneHotSum) and event.neighbours is Relation.REPLACE:
        return Repeated(event=RandomizedResponseSum(n=event.n, epsilon0=event.epsilon0), times=2)
    return None


def proved_epsilon(event: PrivacyEvent, delta: float) -> float | None:
    """ε by proof: the event's own, or the upper end of its bracket; None if none is known.

    A further report is independent noise (post-processing): what is exact for the largest number of one-hot
    vectors whose assignments are all gone through holds for more of them.
    """
    bound = proved_bound(event)
    if bound is None:
        return None
    epsilon = bound.epsilon(delta)
    if isinstance(event, OneHotSum) and not event.proved:
        # The lower end for one vector more is quickly found, and cannot be above what is exact for fewer.
        lower = replace(event, n=LARGEST_ENUMERATED + 1).epsilon(delta)
        if epsilon > lower:
            epsilon = min(epsilon, replace(event, n=LARGEST_ENUMERATED).epsilon(delta))
    return epsilon
