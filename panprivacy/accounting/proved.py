"""The proved bound beside a number that belongs to the worst case found numerically."""

from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampled
from panprivacy.accounting.shuffled import Shuffled


def proved_bound(event: PrivacyEvent) -> PrivacyEvent | None:
    """An event that bounds `event` by proof: itself where it is proved, None where none is known.

    - A sum of randomized responses tells less than their shuffled reports; so does it over a sample.
    - Replacing a one-hot vector changes two coordinates, whose sums are independent given all inputs; each
      is a sum of randomized responses. (The proved bound on that sum itself would be tighter, and takes
      hundreds of times as long to compose.)
    """
    if event.proved:
        return event
    if isinstance(event, RandomizedResponseSum):
        reports = Shuffled(n=event.n, epsilon0=event.epsilon0)
        return Sampled(event=reports, n=event.n, sampling_rate=event.sampling_rate)
    if isinstance(event, OneHotSum) and event.neighbours is Relation.REPLACE:
        reports = Shuffled(n=event.n, epsilon0=event.epsilon0)
        return Repeated(event=reports, times=2)
    return None
