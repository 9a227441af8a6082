"""Privacy events by their `kind`, and reading them from stored data.

A ledger is read for years. So a type of event, or a field of one, never changes its meaning. A different
meaning gets a new type, and the old one stays here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.discrete_gaussian_vector import DiscreteGaussianVector
from panprivacy.accounting.epsilon_delta import AdditionalDelta, EpsilonDelta
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.importance_sampling import ImportanceSampling
from panprivacy.accounting.interface import NestedEvent, PrivacyEvent
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.rejection_sampling import RejectionSampling
from panprivacy.accounting.sampling import Sampling
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse, ShuffledReports
from panprivacy.accounting.subsampled_response_sum import SubsampledResponseSum
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from panprivacy.formats.errors import FieldError

DEEPEST_NESTING = 8
"""Events within events that are read."""

EVENTS: Mapping[str, type[PrivacyEvent]] = MappingProxyType(
    {
        event_class.kind: event_class
        for event_class in (
            RandomizedResponseSum,
            OneHotSum,
            VectorCoinSum,
            DiscreteGaussianSum,
            DiscreteGaussianVector,
            Gaussian,
            ShuffledRandomizedResponse,
            ShuffledReports,
            Sampling,
            SubsampledResponseSum,
            ImportanceSampling,
            Repetition,
            EpsilonDelta,
            AdditionalDelta,
            RejectionSampling,
        )
    }
)
"""Kind → class."""


def event_from_mapping(members: object) -> PrivacyEvent:
    """Inverse of `PrivacyEvent.as_dict`.

    Raises:
        FieldError: the `kind` is unknown, or a field is unknown, missing or out of range.
    """
    return _event(members, DEEPEST_NESTING)


def _event(members: object, levels: int) -> PrivacyEvent:
    if levels == 0:
        raise FieldError("event", f"must not contain events {DEEPEST_NESTING} deep")
    if not isinstance(members, Mapping):
        raise FieldError("event", "must be an object with a kind and its fields")
    kind = members.get("kind")
    if not isinstance(kind, str) or kind not in EVENTS:
        raise FieldError("kind", f"must be one of {', '.join(EVENTS)}, not {str(kind)[:60]!r}")
    fields: dict[str, Any] = {name: value for name, value in members.items() if name != "kind"}
    if "event" in fields and issubclass(EVENTS[kind], NestedEvent):
        fields["event"] = _event(fields["event"], levels - 1)
    return EVENTS[kind].from_members(fields)
