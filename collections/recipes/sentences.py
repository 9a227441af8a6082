"""What a guarantee means, in sentences; the mechanisms supply the numbers.

ε is never shown bare: every sentence says who the observer is, and every number stands
beside its neighbouring relation.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.trust import Trust
from recipes.observers import OBSERVERS
from recipes.presentation import number, significant

NOT_COMPUTED = "not computed"
COMPUTATIONAL = "not stated in ε: computational"

HIDES_NOTHING = math.log(999)
"""From this ε on a guess becomes 99.9 % sure: for practical purposes nothing is hidden."""

RELATION_NAMES = {Relation.REPLACE: "replacement", Relation.ADD_REMOVE: "add/remove"}

RELATIONS = {
    Relation.REPLACE: "replacement (a device's whole history against any other history)",
    Relation.ADD_REMOVE: "add/remove (a device's report against the reference report, which says nothing)",
}


@dataclass(frozen=True)
class GuaranteeText:
    """One guarantee, ready to be shown; several relations where the numbers are the same.

    Attributes:
        model: registered name of the model.
        observer: who is kept from learning.
        sentence: what that observer can and cannot do.
        relation_names, relations: the neighbouring relations, named; named and explained.
        epsilon, delta: the numbers, or "not computed"; where encryption protects, ε is said to be
            no measure, and δ is empty.
        found: what is known below a proved ε; empty where ε is exact.
        colluding: the same guarantee if a part of the cohort colludes; empty where that changes nothing.
        source, assumption: as the guarantee states them.
    """

    model: str
    observer: str
    sentence: str
    relation_names: tuple[str, ...]
    relations: tuple[str, ...]
    epsilon: str
    delta: str
    found: str
    colluding: str
    source: str
    assumption: str


def guarantee_texts(guarantees: Iterable[Guarantee]) -> list[GuaranteeText]:
    """Every guarantee with its sentence; those that differ in their relation only stand together, and so
    does what a colluding part of the cohort changes."""
    alike: dict[Guarantee, list[Relation]] = {}
    for guarantee in guarantees:
        # The sentence of the stronger relation speaks for both.
        alike.setdefault(replace(guarantee, relation=Relation.REPLACE), []).append(guarantee.relation)
    colluding: dict[tuple[Model, tuple[Relation, ...]], list[str]] = {}
    for guarantee, relations in alike.items():
        if guarantee.dishonest_fraction:
            colluding.setdefault((guarantee.model, tuple(relations)), []).append(_colluding(guarantee))
    return [
        GuaranteeText(
            model=guarantee.model.value,
            observer=OBSERVERS[guarantee.trust].headings[guarantee.model],
            sentence=guarantee_sentence(
                guarantee if Relation.REPLACE in relations else replace(guarantee, relation=relations[0])
            ),
            relation_names=tuple(RELATION_NAMES[relation] for relation in relations),
            relations=tuple(RELATIONS[relation] for relation in relations),
            epsilon=_epsilon(guarantee),
            delta=_delta(guarantee),
            found=_found(guarantee),
            colluding=" ".join(colluding.get((guarantee.model, tuple(relations)), [])),
            source=guarantee.source,
            assumption=guarantee.assumption,
        )
        for guarantee, relations in alike.items()
        if not guarantee.dishonest_fraction
    ]


def protection_warning(guarantees: Iterable[Guarantee]) -> str:
    """What must be said plainly where a decrypted report tells a device's answer; else empty."""
    for guarantee in guarantees:
        if guarantee.model == Model.LOCAL and (
            guarantee.epsilon is None or guarantee.epsilon >= HIDES_NOTHING
        ):
            return (
                f"Single answers are hardly scrambled here: {OBSERVERS[guarantee.trust].betrayal} "
                "What scrambling there is protects the combined result only."
            )
    return ""


def guarantee_from_mapping(members: Mapping[str, Any]) -> Guarantee:
    """A guarantee as a release stores it."""
    named = {
        "model": Model(members["model"]),
        "relation": Relation(members["relation"]),
        # Absent where it was stated before there were two servers.
        "trust": Trust(members.get("trust", Trust.SINGLE_SERVER)),
    }
    return Guarantee(**{**members, **named})


def guarantee_sentence(guarantee: Guarantee) -> str:
    """What the observer can and cannot do, with the numbers filled in."""
    return _SENTENCES[guarantee.model](guarantee)


def epsilon_text(epsilon: float) -> str:
    """ε to three significant digits, without trailing zeros."""
    return "0" if epsilon == 0 else number(float(f"{epsilon:.3g}"))


def certain_share(epsilon: float) -> float:
    """How sure an observer can become who held both answers for equally likely: e^ε / (1 + e^ε)."""
    return 1 / (1 + math.exp(-epsilon))


def certainty(epsilon: float) -> str:
    """`certain_share` as a clause."""
    if epsilon >= HIDES_NOTHING:
        return "more than 99.9 % sure: for practical purposes this hides nothing"
    share = certain_share(epsilon)
    return f"at most {significant(100 * share, 3 if share >= 0.99 else 2)} % sure"


def odds_factor(epsilon: float) -> str:
    """×e^ε, the largest factor by which the odds can shift."""
    factor = math.exp(epsilon)
    if factor > 1_000:
        return "more than ×1,000: for practical purposes this hides nothing"
    return f"at most ×{significant(factor, 3 if factor < 10 else 2)}"


def allowance(delta: float | None) -> str:
    """δ as a clause; empty where it is zero."""
    if not delta:
        return ""
    return f", apart from an allowance of {_one_in(delta)} (δ)"


def sampling_sentence(sampling_rate: float) -> str:
    """What on-device sampling means; empty where every device takes part."""
    if sampling_rate >= 1:
        return ""
    return (
        f"Each device privately tosses a coin; about {significant(100 * sampling_rate)} in 100 take part. "
        "That a device was skipped is secret; a report that is sent is no better protected for it."
    )


def _epsilon(guarantee: Guarantee) -> str:
    if guarantee.model == Model.PAN:
        return COMPUTATIONAL
    return NOT_COMPUTED if guarantee.epsilon is None else epsilon_text(guarantee.epsilon)


def _delta(guarantee: Guarantee) -> str:
    if guarantee.model == Model.PAN:
        return ""
    return NOT_COMPUTED if guarantee.delta is None else number(guarantee.delta)


def _found(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None or guarantee.found_epsilon is None:
        return ""
    return (
        f"ε = {epsilon_text(guarantee.epsilon)} is proved. The worst case found numerically is "
        f"{epsilon_text(guarantee.found_epsilon)}; nothing proves that none is worse."
    )


def _colluding(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None:
        return ""
    percent = significant(100 * guarantee.dishonest_fraction)
    found = (
        ""
        if guarantee.found_epsilon is None
        else f" (worst case found: {epsilon_text(guarantee.found_epsilon)})"
    )
    numbers = f"ε = {epsilon_text(guarantee.epsilon)}{found}, δ = {_delta(guarantee)}"
    return f"{numbers} if {percent} % of the devices collude with the observer."


def _local(guarantee: Guarantee) -> str:
    observer = OBSERVERS[guarantee.trust].local
    if guarantee.epsilon is None:
        return f"{observer} learns something about that device; how much is not computed."
    if guarantee.relation == Relation.ADD_REMOVE:
        return (
            f"{observer}, and wonders whether it says anything about the device, can shift the odds by "
            f"{odds_factor(guarantee.epsilon)}{allowance(guarantee.delta)}."
        )
    return (
        f"{observer}, and thought two answers equally likely, can become {certainty(guarantee.epsilon)}"
        f"{allowance(guarantee.delta)}."
    )


def _odds_of(observer: str) -> Callable[[Guarantee], str]:
    return lambda guarantee: _odds(observer, guarantee)


def _aggregator(guarantee: Guarantee) -> str:
    return _odds(OBSERVERS[guarantee.trust].aggregator, guarantee)


def _odds(observer: str, guarantee: Guarantee) -> str:
    if guarantee.epsilon is None:
        return f"{observer} learns something about one device; how much is not computed."
    return (
        f"{observer} can shift the odds about one device by {odds_factor(guarantee.epsilon)}"
        f"{allowance(guarantee.delta)}."
    )


def _pan(guarantee: Guarantee) -> str:
    return (
        "Someone who opens the device, even again and again, cannot read from what is stored there whether "
        f"it happened, {OBSERVERS[guarantee.trust].helped}. This rests on encryption, not on ε."
    )


_SENTENCES = {
    Model.LOCAL: _local,
    Model.AGGREGATOR: _aggregator,
    Model.SAMPLED: _odds_of("Whoever sees only the combined result, and not which devices took part,"),
    Model.SHUFFLE: _odds_of("Whoever sees every report of a cohort, in random order and without senders,"),
    Model.PAN: _pan,
}

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def _one_in(probability: float) -> str:
    inverse = 1 / probability
    for size, name in _LARGE:
        if inverse >= size * 0.999 and inverse < size * 1_000:
            return f"one in {'a' if round(inverse / size) == 1 else significant(inverse / size)} {name}"
    if inverse >= 1e15:
        return f"a probability of {probability:g}".replace("-", "−")
    return f"one in {significant(inverse)}"
