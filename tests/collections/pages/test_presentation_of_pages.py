import math
import re
from dataclasses import replace

import pytest

from pages.plan.sentences import learned
from pages.publish.quantile_plot import DOTS, quantile_plot
from pages.trust_models import SHOWN
from pages.words.certainty import allowance, certainty, epsilon_text
from pages.words.curator_sentences import WONDERS
from pages.words.sentences import guarantee_sentence, guarantee_texts, protection_warning, sampling_sentence
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.planning.expectation import Z_95
from panprivacy.trust import Trust
from web.numbers import at_most, at_place, estimate_with_margin, number, place_of, significant


def guarantee(
    model: Model, epsilon: float | None, relation: Relation = Relation.REPLACE, **changes: object
) -> Guarantee:
    members = {"delta": 0.0, "source": "Theorem 1", "assumption": "arithmetic", **changes}
    return Guarantee(model=model, relation=relation, epsilon=epsilon, **members)


@pytest.mark.parametrize(
    ("uncertainty", "shown"),
    [
        (97.4, "97"),
        (96.97, "97"),
        (0.0412, "0.041"),
        (9.96, "10"),
        (99.6, "100"),
        (1234.0, "1,200"),
        (0.0, "0"),
    ],
)
def test_significant_shows_two_digits(uncertainty: float, shown: str) -> None:
    assert significant(uncertainty) == shown


@pytest.mark.parametrize(
    ("bound", "shown"), [(12.345, "13"), (12.0, "12"), (0.0412, "0.042"), (99.6, "100"), (1234.5, "1,300")]
)
def test_upper_bounds_are_rounded_up(bound: float, shown: str) -> None:
    assert at_most(bound) == shown


def test_rounding_up_to_a_new_digit_moves_the_place() -> None:
    assert place_of(9.94) == -1
    assert place_of(9.96) == 0


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (3012.4, 97.0, "3,010 ± 190"),
        (-40.2, 97.0, "−40 ± 190"),
        (0.8534, 0.0193, "0.853 ± 0.038"),
        (-0.4, 97.0, "0 ± 190"),
    ],
)
def test_estimate_is_shown_to_the_place_of_its_margin(value: float, error: float, shown: str) -> None:
    assert estimate_with_margin(value, Z_95 * error) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (10000, "10,000"),
        (0.25, "0.25"),
        (1e-6, "1e-6"),
        (1.5e-7, "1.5e-7"),
        (0.0005, "0.0005"),
        (True, "yes"),
        (-1234.5, "−1,234.5"),
        (1e-30, "1e-30"),
        (1.0, "1"),
        ("local", "local"),
    ],
)
def test_number_is_shown_in_full(value: object, shown: str) -> None:
    assert number(value) == shown


def test_at_place_rounds_beyond_the_point() -> None:
    assert at_place(12345.0, 2) == "12,300"


def test_local_sentence_says_how_sure_somebody_can_become() -> None:
    # e/(1 + e) = 0.731
    assert "at most 73% sure" in guarantee_sentence(guarantee(Model.LOCAL, 1.0))


def test_aggregator_sentence_names_the_gain_and_the_allowance() -> None:
    # e^0.036/(1 + e^0.036) = 0.50899...
    sentence = guarantee_sentence(guarantee(Model.AGGREGATOR, 0.036, delta=1e-6))
    assert "from 50% sure (a coin toss) to at most 50.9% sure" in sentence
    assert "a failure probability (δ) of 1e-6" in sentence


@pytest.mark.parametrize("model", [Model.LOCAL, Model.AGGREGATOR])
def test_an_unknown_epsilon_is_said_to_be_not_computed(model: Model) -> None:
    (text,) = guarantee_texts([guarantee(model, None)])
    assert "not computed" in text.sentence
    assert text.epsilon == "not computed"


GUESSES = (
    "whether the report carries the device’s answer or none",
    "which of two answers it was made from",
    "whether one device takes part",
    "of a guess about one device",
    "of a guess about one item",
    *WONDERS.values(),
)
"""What somebody can become sure of, as it follows "sure"."""

GAIN = re.compile(
    r"(?P<observer>[A-Z].*[a-z,]) gets from 50% sure \(a coin toss\) to "
    r"(?P<certainty>at most 62% sure|more than 99\.9% sure) (?P<guess>.*?)"
    r"(?P<allowance>, apart from a failure probability \(δ\) of 1e-6)?\."
    r"(?P<verdict> For practical purposes, this hides nothing\.)?"
)


def stated(trust: Trust, model: Model, relation: Relation, epsilon: float, delta: float) -> Guarantee:
    read = {"announced_intrusions": 1, "intrusions": 1} if model is Model.PAN else {}
    return guarantee(model, epsilon, relation, trust=trust, delta=delta, **read)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize(
    ("trust", "model"), [(trust, model) for trust in SHOWN for model in SHOWN[trust].observers.headings]
)
def test_every_sentence_of_a_gain_is_composed_alike(
    trust: Trust, model: Model, epsilon: float, delta: float
) -> None:
    """Of all parts that there are, also of those that no statistic puts together."""
    for relation in WONDERS if model is Model.PAN else Relation:
        sentence = guarantee_sentence(stated(trust, model, relation, epsilon, delta))
        found = GAIN.fullmatch(sentence)
        assert found is not None, sentence
        assert found["guess"] in GUESSES, sentence
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


@pytest.mark.parametrize("epsilon", [8.0, 20.0])
def test_a_guess_of_which_nothing_is_hidden_is_said_in_whole_sentences(epsilon: float) -> None:
    of_values = guarantee_sentence(guarantee(Model.LOCAL, epsilon))
    assert of_values.endswith(
        "to more than 99.9% sure which of two answers it was made from. For practical purposes, this hides "
        "nothing."
    )


def test_certainty_is_never_rounded_to_one_hundred_percent() -> None:
    for tenths in range(1, 200):
        assert "100" not in certainty(tenths / 10)


def test_smaller_epsilon_beside_a_larger_delta_is_said_to_promise_less() -> None:
    honest = guarantee(Model.SHUFFLE, 0.5, delta=1e-6)
    less = {"dishonest_fraction": 0.5, "delta": 1e-3}
    (text,) = guarantee_texts([honest, guarantee(Model.SHUFFLE, 0.4, **less)])
    assert "This promises less, though its ε is smaller" in text.colluding
    (text,) = guarantee_texts([honest, guarantee(Model.SHUFFLE, 0.6, **less)])
    assert "promises less" not in text.colluding


def test_pan_sentence_rests_on_encryption() -> None:
    assert "rests on encryption, not on ε" in guarantee_sentence(guarantee(Model.PAN, 0.0))


def test_pan_guarantee_is_not_stated_in_epsilon() -> None:
    (text,) = guarantee_texts([guarantee(Model.PAN, 0.0)])
    assert (text.epsilon, text.delta) == ("not stated in ε: computational", "")


def curator(epsilon: float | None, relation: Relation = Relation.USER, **changes: object) -> Guarantee:
    members = {"trust": Trust.CURATOR, "intrusions": 1, "announced_intrusions": 0, **changes}
    return guarantee(Model.PAN, epsilon, relation, **members)


def test_guarantee_of_a_curator_says_how_often_the_state_is_read_and_how_sure_somebody_gets() -> None:
    (text,) = guarantee_texts([curator(1.0, announced_intrusions=2)])
    assert text.observer == "Someone with two announced copies, one secret copy and the result"
    assert text.sentence.startswith(text.observer)
    assert "at most 73% sure" in text.sentence
    assert "encryption" not in text.sentence
    assert (text.numbers, text.relation_names) == (
        "privacy loss ε = 1, failure probability δ = 0",
        ("user level",),
    )


def test_guarantees_of_a_curator_stand_apart_where_they_count_different_looks() -> None:
    texts = guarantee_texts([curator(1.5, announced_intrusions=1), curator(1.0)])
    assert len({text.observer for text in texts}) == 2
    assert "announced" not in texts[1].sentence


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (Relation.USER, "however often"),
        (Relation.RECORD, "one entry of the stream"),
        (Relation.REPLACE, "two histories"),
    ],
)
def test_guarantee_of_a_curator_says_what_cannot_be_told_apart(relation: Relation, said: str) -> None:
    assert said in guarantee_sentence(curator(1.0, relation))


def test_unknown_guarantee_of_a_curator_is_said_to_be_not_computed() -> None:
    (text,) = guarantee_texts([curator(None)])
    assert "not computed" in text.sentence
    assert text.numbers == "privacy loss (ε) not computed"


def test_guarantee_of_a_shuffler_says_what_each_part_of_colluding_devices_changes() -> None:
    shuffled = [
        guarantee(Model.SHUFFLE, epsilon, trust=Trust.SHUFFLER, dishonest_fraction=part, delta=delta)
        for part, epsilon, delta in ((0.0, 1.0, 1e-6), (0.25, 1.25, 2e-6), (0.5, 1.75, 0.0014142135))
    ]
    (text,) = guarantee_texts(shuffled)
    assert "as this server does" in text.sentence
    assert "at most 73% sure" in text.sentence
    for percent, numbers in ((25, "ε = 1.25, δ = 2e-6"), (50, "ε = 1.75, δ = 0.00141")):
        assert f"If {percent}% of the devices collude with the observer: {numbers}." in text.colluding


@pytest.mark.parametrize(("delta", "at"), [(1e-6, ""), (0.00281, " at this larger δ")])
def test_worst_case_with_colluders_names_a_larger_delta_that_it_belongs_to(delta: float, at: str) -> None:
    honest = guarantee(Model.SHUFFLE, 2.0, trust=Trust.SHUFFLER, delta=1e-6, found_epsilon=0.397)
    colluding = replace(honest, dishonest_fraction=0.5, delta=delta, found_epsilon=0.251)
    (text,) = guarantee_texts([honest, colluding])
    assert f"(worst case found{at}: 0.251)." in text.colluding


def test_guarantee_of_a_sample_whose_worst_case_is_not_exact_is_a_bracket() -> None:
    honest = guarantee(Model.SAMPLED, 0.0256, delta=1e-6, found_epsilon=0.0252)
    colluding = replace(honest, dishonest_fraction=0.5, epsilon=0.039, found_epsilon=0.038)
    (text,) = guarantee_texts([honest, colluding])
    assert text.found == "Proved bracket: the smallest ε that holds lies between 0.0252 and 0.0256."
    assert "(proved bracket, lower end: 0.038)." in text.colluding


@pytest.mark.parametrize(
    ("epsilon", "warned"), [(1.0, False), (6.9, False), (6.91, True), (30.0, True), (None, True)]
)
def test_weak_local_guarantee_is_warned_of_however_strong_the_others_are(
    epsilon: float | None, warned: bool
) -> None:
    others = [guarantee(Model.AGGREGATOR, 0.1), guarantee(Model.PAN, 0.0)]
    assert bool(protection_warning([*others, guarantee(Model.LOCAL, epsilon)])) is warned


def test_equal_numbers_under_two_relations_stand_together() -> None:
    both = [guarantee(Model.LOCAL, 1.0), guarantee(Model.LOCAL, 1.0, Relation.ADD_REMOVE)]
    (text,) = guarantee_texts(both)
    assert text.relation_names == ("replacement", "add/remove")
    assert len(guarantee_texts([both[0], guarantee(Model.LOCAL, 2.0, Relation.ADD_REMOVE)])) == 2


@pytest.mark.parametrize(
    ("delta", "shown"), [(1e-6, "1e-6"), (2e-7, "2e-7"), (0.01, "0.01"), (1.23456e-30, "1.23e-30")]
)
def test_allowance_has_delta_in_the_one_notation(delta: float, shown: str) -> None:
    assert allowance(delta) == f", apart from a failure probability (δ) of {shown}"


def test_no_allowance_is_mentioned_where_delta_is_zero() -> None:
    assert allowance(0.0) == ""


def test_epsilon_is_shown_to_three_digits() -> None:
    assert [epsilon_text(value) for value in (1.0, 0.036123, 0.0)] == ["1", "0.0361", "0"]


def test_sampling_is_explained_only_where_devices_are_sampled() -> None:
    assert sampling_sentence(1.0) == ""
    assert "About 10% of devices take part" in sampling_sentence(0.1)
    assert "no better protected" in sampling_sentence(0.1)


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
