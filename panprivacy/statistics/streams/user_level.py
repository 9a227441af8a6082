"""The privacy of the algorithms of PPS: all that one item did is hidden, and δ is 0."""

from abc import abstractmethod
from typing import TypeVar

from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.interface import INTRUSION_ORDER, StreamStatistic, require_allowed
from panprivacy.statistics.streams.parameters import StreamParameters
from panprivacy.statistics.trust_models.curator import Curator

P = TypeVar("P", bound=StreamParameters)

LARGEST_EPSILON = 100
"""A guarantee beyond it protects no item, and is refused."""


class UserLevelStatistic(StreamStatistic[P]):
    """A stream algorithm with ε-pan-privacy for X-adjacent streams (PPS Definition 2.3)."""

    @abstractmethod
    def total_epsilon(self, announced_intrusions: int) -> float:
        """ε of the joint view: this number of announced intrusions, one by surprise, and the result."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The source of `total_epsilon`."""

    def guarantee(self, announced_intrusions: int) -> Guarantee:
        require_allowed(announced_intrusions, self.parameters.announced_intrusions)
        return Guarantee(
            model=Model.PAN,
            relation=Relation.USER,
            epsilon=self.total_epsilon(announced_intrusions),
            delta=0.0,
            source=self.source,
            assumption=INTRUSION_ORDER,
            trust=Curator.trust,
            intrusions=1,
            announced_intrusions=announced_intrusions,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """With as many intrusions announced as allowed, and with none."""
        counts = dict.fromkeys((self.parameters.announced_intrusions, 0))
        return tuple(self.guarantee(count) for count in counts)

    def aggregator_event(self) -> PrivacyEvent:
        """All intrusions and the result, because a budget cannot assume that the state was never read.

        A bound for any change of one item's appearances also covers a replacement of its whole history.
        """
        return EpsilonDelta(
            epsilon_given=self.total_epsilon(self.parameters.announced_intrusions),
            delta_given=0.0,
            relation=Relation.REPLACE.value,
        )

    def require_promise(self) -> None:
        """FieldError if the whole costs so much that it protects no item."""
        total = self.total_epsilon(self.parameters.announced_intrusions)
        if total > LARGEST_EPSILON:
            raise FieldError(
                "epsilon",
                f"adds up to {total:.0f} over all readings, which is no protection; lower it, or announce "
                f"fewer intrusions, until this is at most {LARGEST_EPSILON}",
            )
