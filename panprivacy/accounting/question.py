"""A question about one mechanism, in plain data, and its answer: the code of `manage.py account`.

With `delta` and every parameter, it asks for ε. With `delta`, `epsilon` and one parameter left out, it asks
for that parameter. Names of mechanisms and fields are those of the public interface; an event's may differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.calibration import calibrated, solvable_fields
from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.guarantees import Relation, bracket
from panprivacy.accounting.interface import LARGEST_N, PrivacyEvent, require_delta, require_epsilon
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampling
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from panprivacy.formats.errors import FieldError

LARGEST_SAMPLED_N = 10**9
"""n up to which sums over numbers of reports, or of clones, are taken: seconds, some hundred megabytes."""

LARGEST_ONE_HOT_N = 10**7
"""n up to which two coordinates are added up jointly."""


@dataclass(frozen=True)
class _Mechanism:
    event_class: type[PrivacyEvent]
    renamed: Mapping[str, str]  # public name → the event's
    largest_n: int = LARGEST_N


MECHANISMS: Mapping[str, _Mechanism] = {
    "randomized_response": _Mechanism(RandomizedResponseSum, {}),
    "one_hot": _Mechanism(OneHotSum, {}, LARGEST_ONE_HOT_N),
    "vector_coin": _Mechanism(VectorCoinSum, {}, LARGEST_SAMPLED_N),
    "discrete_gaussian_sum": _Mechanism(DiscreteGaussianSum, {"range": "value_range"}),
    "gaussian": _Mechanism(Gaussian, {}),
    "shuffled": _Mechanism(ShuffledRandomizedResponse, {}, LARGEST_SAMPLED_N),
}
"""Mechanism → event, and names that differ."""


def answer(question: object) -> dict[str, Any]:
    """What a question asks for.

    Args:
        question: an object with `mechanism`, `delta`, the mechanism's parameters, and either all of them
            or `epsilon` with exactly one solvable one left out.

    Returns:
        `epsilon`, or the parameter that was solved for; `delta`; `relation`; `method`. `proved`: whether ε is
        a bound by proof or the lower end of a bracket. `proved_epsilon`: ε by proof, the upper end, at the
        parameter that was solved for (None if none is computed).

    Raises:
        FieldError: names the field and what is allowed. n is limited beyond what events allow if
            computing takes long: `LARGEST_ONE_HOT_N`, `LARGEST_SAMPLED_N`.
    """
    if not isinstance(question, Mapping):
        raise FieldError("question", "must be an object")
    members = dict(question)
    name = members.pop("mechanism", None)
    if not isinstance(name, str) or name not in MECHANISMS:
        raise FieldError("mechanism", f"must be one of {', '.join(MECHANISMS)}")
    mechanism = MECHANISMS[name]
    if "delta" not in members:
        raise FieldError("delta", "is missing; it must be a number above 0 and below 1")
    delta: Any = members.pop("delta")
    require_delta(delta)
    members = _own_names(mechanism, members)
    public = {own: shown for shown, own in mechanism.renamed.items()}
    try:
        answering = _solved if "epsilon" in members else _priced
        return answering(mechanism, members, float(delta))
    except FieldError as error:
        if error.field in public:
            raise FieldError(public[error.field], error.message) from None
        raise


def proved_bound(event: PrivacyEvent) -> PrivacyEvent | None:
    """An event that bounds `event` by proof: itself if it is proved, None if none is known.

    - Of a sum of bits over a sample, what `RandomizedResponseSum.proved_delta` proves.
    - Replacing a one-hot vector changes two coordinates, whose sums are independent given all inputs. Each is
      a sum of randomized responses.
    """
    if event.proved:
        return event
    if isinstance(event, RandomizedResponseSum):
        unsampled = RandomizedResponseSum(n=event.n, epsilon0=event.epsilon0)
        return Sampling(event=unsampled, n=event.n, sampling_rate=event.sampling_rate)
    if isinstance(event, OneHotSum) and event.neighbours is Relation.REPLACE:
        return Repetition(event=RandomizedResponseSum(n=event.n, epsilon0=event.epsilon0), times=2)
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


def _own_names(mechanism: _Mechanism, members: Mapping[str, object]) -> dict[str, object]:
    shown = {field.name: field.name for field in fields(mechanism.event_class)}
    for public, own in mechanism.renamed.items():
        shown[public] = shown.pop(own)
    for name in members:
        if name != "epsilon" and name not in shown:
            allowed = ", ".join(["delta", "epsilon", *shown])
            raise FieldError(name[:60], f"is not a field of this mechanism; it has {allowed}")
    return {shown.get(name, name): value for name, value in members.items()}


def _priced(mechanism: _Mechanism, members: dict[str, object], delta: float) -> dict[str, Any]:
    event = mechanism.event_class.from_members(members)
    _require_feasible(mechanism, event)
    epsilon = event.epsilon(delta)
    return {"epsilon": epsilon, **_described(event, delta, epsilon)}


def _solved(mechanism: _Mechanism, members: dict[str, object], delta: float) -> dict[str, Any]:
    epsilon: Any = members.pop("epsilon")
    require_epsilon(epsilon)
    solvable = solvable_fields(mechanism.event_class)
    missing = [name for name in solvable if name not in members]
    if len(missing) != 1:
        public = " or ".join(solvable)
        raise FieldError("epsilon", f"asks for one parameter: exactly one of {public} must be left out")
    event = calibrated(
        mechanism.event_class,
        members=members,
        solve_for=missing[0],
        epsilon=float(epsilon),
        delta=delta,
        largest=_largest_n(mechanism, members) if missing[0] == "n" else None,
    )
    _require_feasible(mechanism, event)
    return {missing[0]: getattr(event, missing[0]), **_described(event, delta, None)}


def _described(event: PrivacyEvent, delta: float, epsilon: float | None) -> dict[str, Any]:
    by_proof: float | None
    if event.proved:
        by_proof = event.epsilon(delta) if epsilon is None else epsilon
    else:
        by_proof = proved_epsilon(event, delta) if getattr(event, "n", 1) <= LARGEST_SAMPLED_N else None
    method = event.method
    if not event.proved and by_proof is not None:
        method = f"{bracket(event.epsilon(delta) if epsilon is None else epsilon, by_proof)}; {method}"
    return {
        "delta": delta,
        "relation": event.neighbours.value,
        "method": method,
        "proved": event.proved,
        "proved_epsilon": by_proof,
    }


def _largest_n(mechanism: _Mechanism, members: Mapping[str, object]) -> int:
    sampled = members.get("sampling_rate", 1.0) != 1.0
    return min(mechanism.largest_n, LARGEST_SAMPLED_N) if sampled else mechanism.largest_n


def _require_feasible(mechanism: _Mechanism, event: PrivacyEvent) -> None:
    members = event.as_dict()
    largest = _largest_n(mechanism, members)
    if members.get("n", 1) > largest:
        raise FieldError("n", f"must be a whole number of at least 1 and at most {largest:,} here")
