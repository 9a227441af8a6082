import itertools
import math
import re
from dataclasses import replace

import pytest

from pages.plan.sentences import learned
from pages.publish.quantile_plot import DOTS, quantile_plot
from pages.trust_models import SHOWN
from pages.words.certainty import certainty
from pages.words.curator_sentences import WONDERS
from pages.words.sentences import guarantee_sentence, guarantee_texts, protection_warning
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.trust import Trust
from panprivacy.planning.expectation import Z_95
from web.numbers import at_most, estimate_with_margin, number, significant


def guarantee(
    model: Model, epsilon: float | None, relation: Relation = Relation.REPLACE, **changes: object
) -> Guarantee:
    members = {"delta": 0.0, "source": "Theorem 1", "assumption": "arithmetic", **changes}
    return Guarantee(model=model, relation=relation, epsilon=epsilon, **members)


def test_numbers_are_written_for_people() -> None:
    values = (97.4, 96.97, 0.0412, 9.96, 99.6, 1234.0, 0.0)
    assert [significant(value) for value in values] == ["97", "97", "0.041", "10", "100", "1,200", "0"]
    values = (12.345, 12.0, 0.0412, 99.6, 1234.5)
    assert [at_most(value) for value in values] == ["13", "12", "0.042", "100", "1,300"]
    for value, text in (
        *((10000, "10,000"), (0.25, "0.25"), (1e-6, "1e-6"), (1.5e-7, "1.5e-7"), (0.0005, "0.0005")),
        *((True, "yes"), (-1234.5, "−1,234.5"), (1e-30, "1e-30"), (1.0, "1"), ("local", "local")),
    ):
        assert number(value) == text


def test_estimate_is_shown_to_the_place_of_its_margin() -> None:
    for value, error, shown in (
        (3012.4, 97.0, "3,010 ± 190"),
        (-40.2, 97.0, "−40 ± 190"),
        (0.8534, 0.0193, "0.853 ± 0.038"),
        (-0.4, 97.0, "0 ± 190"),
    ):
        assert estimate_with_margin(value, Z_95 * error) == shown


def test_sentence_of_a_guarantee_names_the_gain_and_the_allowance() -> None:
    # e/(1 + e) = 0.731, and e^0.036/(1 + e^0.036) = 0.50899...
    assert "at most 73% sure" in guarantee_sentence(guarantee(Model.LOCAL, 1.0))
    sentence = guarantee_sentence(guarantee(Model.AGGREGATOR, 0.036, delta=1e-6))
    assert "from 50% sure (a coin toss) to at most 50.9% sure" in sentence
    assert "a failure probability (δ) of 1e-6" in sentence
    for tenths in range(1, 200):
        assert "100" not in certainty(tenths / 10)
    for unknown in (guarantee(Model.LOCAL, None), guarantee(Model.AGGREGATOR, None), curator(None)):
        (text,) = guarantee_texts([unknown])
        assert "not computed" in text.sentence
        assert (text.epsilon, text.numbers) == ("not computed", "privacy loss (ε) not computed")
    (pan,) = guarantee_texts([guarantee(Model.PAN, 0.0)])
    assert "rests on encryption, not on ε" in pan.sentence
    assert (pan.epsilon, pan.delta) == ("protected by encryption", "")


GUESSES = (
    "whether the report carries the device’s answer or none",
    "which of two answers it was made from",
    "whether one device takes part",
    "of a guess about one device",
    "of a guess about one item",
)
"""What an observer can become sure of, as it follows "sure"; of a stream, `WONDERS` has it."""

GAIN = re.compile(
    r"(?P<observer>[A-Z].*[a-z,]) gets from 50% sure \(a coin toss\) to "
    r"(?P<certainty>at most 62% sure|more than 99\.9% sure) (?P<guess>.*?)"
    r"(?P<allowance>, apart from a failure probability \(δ\) of 1e-6)?\."
    r"(?P<verdict> For practical purposes, this hides nothing\.)?"
)


def stated(trust: Trust, model: Model, relation: Relation, epsilon: float, delta: float) -> Guarantee:
    read = {"announced_intrusions": 1, "intrusions": 1} if model is Model.PAN else {}
    return guarantee(model, epsilon, relation, trust=trust, delta=delta, **read)


@pytest.mark.parametrize(
    ("trust", "model"), [(trust, model) for trust in SHOWN for model in SHOWN[trust].observers.headings]
)
def test_every_sentence_of_a_gain_is_composed_alike(trust: Trust, model: Model) -> None:
    """Of all parts that there are, also of those that no statistic puts together."""
    relations = WONDERS if model is Model.PAN else Relation
    for relation, epsilon, delta in itertools.product(relations, (0.5, 8.0), (0.0, 1e-6)):
        sentence = guarantee_sentence(stated(trust, model, relation, epsilon, delta))
        found = GAIN.fullmatch(sentence)
        assert found is not None, sentence
        assert found["guess"] in ([WONDERS[relation]] if model is Model.PAN else GUESSES), sentence
        assert found["certainty"].startswith("more") == (epsilon == 8.0)
        assert bool(found["verdict"]) == (epsilon == 8.0), sentence
        assert bool(found["allowance"]) == (delta > 0), sentence
        assert "  " not in sentence


def test_sentence_of_a_plan_is_composed_like_those_of_guarantees() -> None:
    said = learned({"epsilons": {"aggregator": 9.0}}, 1e-6)
    assert said == (
        "Someone who sees only the combined result gets from 50% sure (a coin toss) to more than 99.9% sure "
        "of a guess about one device (privacy loss ε = 9, δ = 1e-6, under replacement). For practical "
        "purposes, this hides nothing."
    )


def test_smaller_epsilon_at_a_larger_delta_promises_less() -> None:
    honest = guarantee(Model.SHUFFLE, 0.5, delta=1e-6)
    less = {"dishonest_fraction": 0.5, "delta": 1e-3}
    (text,) = guarantee_texts([honest, guarantee(Model.SHUFFLE, 0.4, **less)])
    assert "This promises less, though its ε is smaller" in text.colluding
    (text,) = guarantee_texts([honest, guarantee(Model.SHUFFLE, 0.6, **less)])
    assert "promises less" not in text.colluding


def curator(epsilon: float | None, relation: Relation = Relation.USER, **changes: object) -> Guarantee:
    members = {"trust": Trust.CURATOR, "intrusions": 1, "announced_intrusions": 0, **changes}
    return guarantee(Model.PAN, epsilon, relation, **members)


def test_each_observer_has_one_line_under_the_larger_relation() -> None:
    small, large = (
        guarantee(Model.AGGREGATOR, epsilon, relation)
        for epsilon, relation in ((0.814, Relation.ADD_REMOVE), (1.09, Relation.REPLACE))
    )
    (text,) = guarantee_texts([small, large])
    assert text.epsilon == "1.09"
    assert [other.epsilon for other in text.others] == ["0.814"]
    assert text.all_numbers.endswith(", add/remove")


def test_guarantee_of_a_curator_says_how_often_the_state_is_read() -> None:
    text, secret = guarantee_texts([curator(1.0, announced_intrusions=2), curator(1.0)])
    assert text.observer == "Someone with two announced copies, one secret copy and the result"
    assert text.sentence.startswith(text.observer)
    assert "at most 73% sure" in text.sentence
    assert "encryption" not in text.sentence
    assert text.numbers == "privacy loss ε = 1, failure probability δ = 0"
    assert text.relation_names == ("user level",)
    assert "announced" not in secret.sentence


def test_guarantee_of_a_shuffler_says_what_colluding_changes() -> None:
    shuffled = [
        guarantee(Model.SHUFFLE, epsilon, trust=Trust.SHUFFLER, dishonest_fraction=part, delta=delta)
        for part, epsilon, delta in ((0.0, 1.0, 1e-6), (0.25, 1.25, 2e-6), (0.5, 1.75, 0.0014142135))
    ]
    (text,) = guarantee_texts(shuffled)
    assert "as this server does" in text.sentence
    assert "at most 73% sure" in text.sentence
    for percent, numbers in ((25, "ε = 1.25, δ = 2e-6"), (50, "ε = 1.75, δ = 0.00141")):
        assert f"If {percent}% of the devices collude with the observer: {numbers}." in text.colluding


def test_worst_case_with_colluders_names_a_larger_delta_that_it_belongs_to() -> None:
    honest = guarantee(Model.SHUFFLE, 2.0, trust=Trust.SHUFFLER, delta=1e-6, found_epsilon=0.397)
    for delta, at in ((1e-6, ""), (0.00281, " at this larger δ")):
        colluding = replace(honest, dishonest_fraction=0.5, delta=delta, found_epsilon=0.251)
        (text,) = guarantee_texts([honest, colluding])
        assert f"(worst case found{at}: 0.251)." in text.colluding


def test_guarantee_of_a_sample_whose_worst_case_is_not_exact_is_a_bracket() -> None:
    honest = guarantee(Model.SAMPLED, 0.0256, delta=1e-6, found_epsilon=0.0252)
    colluding = replace(honest, dishonest_fraction=0.5, epsilon=0.039, found_epsilon=0.038)
    (text,) = guarantee_texts([honest, colluding])
    assert text.found == "Proved bracket: the smallest ε that holds lies between 0.0252 and 0.0256."
    assert "(proved bracket, lower end: 0.038)." in text.colluding


def test_weak_local_guarantee_is_warned_of_however_strong_the_others_are() -> None:
    others = [guarantee(Model.AGGREGATOR, 0.1), guarantee(Model.PAN, 0.0)]
    for epsilon, warned in ((1.0, False), (6.9, False), (6.91, True), (30.0, True), (None, True)):
        assert bool(protection_warning([*others, guarantee(Model.LOCAL, epsilon)])) is warned


def test_equal_numbers_under_two_relations_stand_together() -> None:
    both = [guarantee(Model.LOCAL, 1.0), guarantee(Model.LOCAL, 1.0, Relation.ADD_REMOVE)]
    (text,) = guarantee_texts(both)
    assert text.relation_names == ("replacement", "add/remove")
    (text,) = guarantee_texts([both[0], guarantee(Model.LOCAL, 2.0, Relation.ADD_REMOVE)])
    assert [other.epsilon for other in text.others] == ["2"]


def test_quantile_plot_is_symmetric_unimodal_and_as_wide_as_the_error() -> None:
    plot = quantile_plot(97.0)
    assert len(plot.dots) == DOTS
    middle = plot.width / 2
    columns = sorted({dot.x for dot in plot.dots})
    heights = {x: sum(dot.x == x for dot in plot.dots) for x in columns}
    right = [heights[x] for x in columns if x >= middle]
    assert right == sorted(right, reverse=True)
    for x in columns:
        assert heights[x] == heights[round(2 * middle - x, 1)]
    assert all(plot.radius <= dot.x <= plot.width - plot.radius for dot in plot.dots)
    assert [tick.label for tick in plot.ticks] == ["−190", "−97", "0", "+97", "+190"]
    # Two thirds of a normal distribution lie within one standard error: 34 of 50.
    one = plot.ticks[3].x - middle
    assert abs(sum(abs(dot.x - middle) <= one for dot in plot.dots) - 0.6827 * DOTS) <= 4
    assert math.isclose(plot.ticks[4].x - middle, 1.96 * one, rel_tol=0.01)
