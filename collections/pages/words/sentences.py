"""What a guarantee means, in sentences; the mechanisms supply the numbers.

ε is never shown bare: every sentence names the observer, and every number is shown with its neighbouring
relation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pages.trust_models import SHOWN
from pages.words.certainty import allowance, delta_text, epsilon_text, gain_sentence, hardly_scrambled
from pages.words.curator_sentences import state_heading, state_sentence
from panprivacy.accounting.guarantees import NONE_HOLDS, Guarantee, Model, Relation
from web.numbers import significant

NOT_COMPUTED = "not computed"
NONE_KNOWN = "none holds"
BY_ENCRYPTION = "protected by encryption"

RELATION_NAMES = {
    Relation.REPLACE: "replacement",
    Relation.ADD_REMOVE: "add/remove",
    Relation.PARTICIPATION: "one report",
    Relation.USER: "user level",
    Relation.RECORD: "record level",
}

LARGEST = {RELATION_NAMES[Relation.REPLACE], RELATION_NAMES[Relation.USER]}
"""Names of relations that hold what the others do."""

RELATIONS = {
    Relation.REPLACE: "replacement (all that one device contributes, against anything else)",
    Relation.ADD_REMOVE: "add/remove (a device's report against the reference report, which says nothing)",
    Relation.PARTICIPATION: "one report (a device takes part, against it does not)",
    Relation.USER: "user level (any number of appearances of one item, against none)",
    Relation.RECORD: "record level (one entry of the stream against any other; an item that came three times "
    "has three)",
}


@dataclass(frozen=True)
class GuaranteeText:
    """One guarantee, ready to be shown; several relations if the numbers are the same.

    Attributes:
        model: registered name of the model.
        observer: who is kept from learning.
        sentence: what that observer can and cannot do.
        relation_names, relations: the neighbouring relations, named; named and explained.
        epsilon, delta: the numbers, or "not computed"; if encryption protects, ε is stated to be no measure,
            and δ is empty.
        found: what is known below a proved ε; empty if ε is exact.
        colluding: the same guarantee if a part of the cohort colludes; empty if that changes nothing.
        source, assumption: as the guarantee states them.
        others: the same against the same observer under smaller relations, with other numbers.
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
    others: tuple["GuaranteeText", ...] = ()

    @property
    def by_encryption(self) -> bool:
        """Whether no ε is stated, because encryption protects."""
        return self.epsilon == BY_ENCRYPTION

    @property
    def all_numbers(self) -> str:
        """ε and δ under each neighbouring relation, on one line."""
        return "; ".join(f"{one.numbers}, {' and '.join(one.relation_names)}" for one in (self, *self.others))

    @property
    def numbers(self) -> str:
        """ε and δ on one line, for lists of sentences."""
        if self.by_encryption:
            return BY_ENCRYPTION
        if self.epsilon == NOT_COMPUTED:
            return "privacy loss (ε) not computed"
        if self.epsilon == NONE_KNOWN:
            return NONE_HOLDS
        delta = f", failure probability δ = {self.delta}" if self.delta else ""
        return f"privacy loss ε = {self.epsilon}{delta}"


def guarantee_texts(guarantees: Iterable[Guarantee]) -> list[GuaranteeText]:
    """Every observer with a sentence, under the largest relation; with it stand the other relations, and what
    a colluding part of the cohort changes."""
    found: dict[tuple[str, str], list[GuaranteeText]] = {}
    for text in _texts(guarantees):
        found.setdefault((text.model, text.observer), []).append(text)
    # sorted is stable: equal relations keep their order.
    ordered = [
        sorted(texts, key=lambda text: LARGEST.isdisjoint(text.relation_names)) for texts in found.values()
    ]
    return [replace(first, others=tuple(others)) for first, *others in ordered]


def _texts(guarantees: Iterable[Guarantee]) -> list[GuaranteeText]:
    """Those that differ in their relation only stand together."""
    alike: dict[Guarantee, list[Relation]] = {}
    for guarantee in guarantees:
        # The sentence of the stronger relation speaks for both.
        alike.setdefault(replace(guarantee, relation=Relation.REPLACE), []).append(guarantee.relation)
    honest = {
        (guarantee.model, tuple(relations)): guarantee
        for guarantee, relations in alike.items()
        if not guarantee.dishonest_fraction
    }
    colluding: dict[tuple[Model, tuple[Relation, ...]], list[str]] = {}
    for guarantee, relations in alike.items():
        if guarantee.dishonest_fraction:
            key = (guarantee.model, tuple(relations))
            colluding.setdefault(key, []).append(_colluding(guarantee, honest.get(key)))
    return [
        GuaranteeText(
            model=guarantee.model.value,
            observer=_heading(guarantee),
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
    """The warning if a decrypted report reveals a device's answer; else empty."""
    for guarantee in guarantees:
        if hardly_scrambled([guarantee]):
            return (
                f"Single answers are hardly scrambled here: {SHOWN[guarantee.trust].observers.betrayal} "
                "What scrambling there is protects the combined result only."
            )
    return ""


def guarantee_sentence(guarantee: Guarantee) -> str:
    """What the observer can and cannot do, with the numbers filled in."""
    return _SENTENCES[guarantee.model](guarantee)


def sampling_sentence(sampling_rate: float) -> str:
    """What on-device sampling means; empty if every device takes part."""
    if sampling_rate >= 1:
        return ""
    return (
        f"About {significant(100 * sampling_rate)}% of devices take part; each draws for itself, in private. "
        "Not taking part stays secret; a report that is sent is no better protected."
    )


def _heading(guarantee: Guarantee) -> str:
    if _rests_on_encryption(guarantee) or guarantee.model != Model.PAN:
        return SHOWN[guarantee.trust].observers.headings[guarantee.model]
    return state_heading(guarantee)


def _rests_on_encryption(guarantee: Guarantee) -> bool:
    """Whether encryption protects what is kept, not noise: then the number of readings does not matter."""
    return guarantee.model == Model.PAN and guarantee.intrusions is None


def _epsilon(guarantee: Guarantee) -> str:
    if _rests_on_encryption(guarantee):
        return BY_ENCRYPTION
    if guarantee.none_holds:
        return NONE_KNOWN
    return NOT_COMPUTED if guarantee.epsilon is None else epsilon_text(guarantee.epsilon)


def _delta(guarantee: Guarantee) -> str:
    if _rests_on_encryption(guarantee) or guarantee.none_holds:
        return ""
    return NOT_COMPUTED if guarantee.delta is None else delta_text(guarantee.delta)


def _found(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None or guarantee.found_epsilon is None:
        return ""
    if guarantee.model is Model.SAMPLED:
        return (
            f"Proved bracket: the smallest ε that holds lies between {epsilon_text(guarantee.found_epsilon)} "
            f"and {epsilon_text(guarantee.epsilon)}."
        )
    return (
        f"ε = {epsilon_text(guarantee.epsilon)} is proved. The worst case found numerically is "
        f"{epsilon_text(guarantee.found_epsilon)}; nothing proves that none is worse."
    )


def _colluding(guarantee: Guarantee, honest: Guarantee | None) -> str:
    """What is left of the guarantee `honest`, which assumes no collusion, if a part of the
    cohort colludes."""
    if guarantee.epsilon is None:
        return ""
    percent = significant(100 * guarantee.dishonest_fraction)
    found = ""
    # At a larger δ an ε may be the smaller one: no stronger promise for it.
    larger = (
        honest is not None
        and honest.delta is not None
        and guarantee.delta is not None
        and guarantee.delta > honest.delta
    )
    if guarantee.found_epsilon is not None:
        at = " at this larger δ" if larger else ""
        kind = "proved bracket, lower end" if guarantee.model is Model.SAMPLED else "worst case found"
        found = f" ({kind}{at}: {epsilon_text(guarantee.found_epsilon)})"
    numbers = f"ε = {epsilon_text(guarantee.epsilon)}, δ = {_delta(guarantee)}{found}"
    said = f"If {percent}% of the devices collude with the observer: {numbers}."
    if larger and honest is not None and honest.epsilon is not None and guarantee.epsilon < honest.epsilon:
        said += (
            " This promises less, though its ε is smaller: it may fail altogether with the larger "
            "probability δ."
        )
    return said


def _local(guarantee: Guarantee) -> str:
    observer = SHOWN[guarantee.trust].observers.local
    if guarantee.none_holds:
        return f"{observer} may read that device's answer from it: {NONE_HOLDS}."
    if guarantee.epsilon is None:
        return f"{observer} learns something about that device; how much is not computed."
    if guarantee.relation == Relation.ADD_REMOVE:
        guess = "whether the report carries the device’s answer or none"
    else:
        guess = "which of two answers it was made from"
    return gain_sentence(observer, guarantee.epsilon, guess, allowance(guarantee.delta))


def _aggregator(guarantee: Guarantee) -> str:
    return _gains(SHOWN[guarantee.trust].observers.aggregator, guarantee)


def _sampled(guarantee: Guarantee) -> str:
    return _gains("Someone who sees only the combined result, and not which devices took part,", guarantee)


def _counted(guarantee: Guarantee) -> str:
    observer = "Someone who sees the number of reports, and knows who else takes part,"
    if guarantee.epsilon is None:
        return f"{observer} can see whether one device takes part."
    guess = "whether one device takes part"
    return gain_sentence(observer, guarantee.epsilon, guess, allowance(guarantee.delta))


def _shuffled(guarantee: Guarantee) -> str:
    return _gains(SHOWN[guarantee.trust].observers.mixed, guarantee)


def _gains(observer: str, guarantee: Guarantee) -> str:
    subject = SHOWN[guarantee.trust].observers.subject
    if guarantee.epsilon is None:
        return f"{observer} learns something about {subject}; how much is not computed."
    guess = f"of a guess about {subject}"
    return gain_sentence(observer, guarantee.epsilon, guess, allowance(guarantee.delta))


def _pan(guarantee: Guarantee) -> str:
    if not _rests_on_encryption(guarantee):
        return state_sentence(guarantee)
    return (
        "Someone who opens the device, even again and again, cannot read there whether the event happened, "
        f"{SHOWN[guarantee.trust].observers.helped}. This rests on encryption, not on ε."
    )


_SENTENCES = {
    Model.LOCAL: _local,
    Model.AGGREGATOR: _aggregator,
    Model.SAMPLED: _sampled,
    Model.COUNT: _counted,
    Model.SHUFFLE: _shuffled,
    Model.PAN: _pan,
}
