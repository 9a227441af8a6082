"""The proved bound beside a number that belongs to the worst case found numerically."""

from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampled


def proved_bound(event: PrivacyEvent) -> PrivacyEvent | None:
    """An event that bounds `event` by proof: itself where it is proved, None where none is known.

    - Of a sum over a sample, what is proved of the sum over each number of reports.
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
