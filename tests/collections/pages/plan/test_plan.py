import html
import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from pages.plan.forms import plan_form_class
from panprivacy.planning.plan import Depth, plan_of
from panprivacy.planning.plan import Question as Asked
from panprivacy.statistics.events import MECHANISMS
from storage.answers.models import Question
from tests.collections.recipes.planner.scene import computes_nothing, part_of
from tests.collections.storage.answers.scene import begin, leases_end, work
from tests.page_text import page_text
from tests.scenes import analyst

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}

ASKED = {
    "margin": "2",
    "aggregator_epsilon": "",
    "unknown": "epsilon",
    "cohort_size": "500",
    "delta": "0.001",
}
"""A question whose whole plan is computed once for all tests of this file."""


def page_of(client: Client, sent: list[str] | None = None, **query: Any) -> str:
    """The page; where `sent` is given, after the questions that it sent are answered."""
    response = client.get(reverse("plan"), query)
    assert response.status_code == 200
    if sent:
        work(sent)
        response = client.get(reverse("plan"), query)
    return html.unescape(page_text(response))


@pytest.mark.parametrize("statistic", sorted(MECHANISMS))
def test_page_of_every_statistic_shows_what_to_expect_without_any_query(
    client: Client, sent: list[str], statistic: str
) -> None:
    parameters = MECHANISMS[statistic].parameters_class
    fields = plan_form_class(MECHANISMS[statistic]).base_fields
    assert set(parameters.entered_names()) <= set(fields)
    page = page_of(client, statistic=statistic)
    assert "Expect ±" in page
    assert "Bytes per device" in page


def test_page_compares_the_errors_of_both_coins(client: Client, sent: list[str]) -> None:
    asked = {"statistic": "histogram", "epsilon": "1", "k": "2"}
    assert "With a coin for each value, the largest error would be 1.6 times as large." in page_of(
        client, **asked
    )
    assert "With one coin for all values, the largest error would be 0." in page_of(
        client, **asked, coin="bucket"
    )
    assert "the largest error would be" not in page_of(client, **asked, trust="two_server")


def test_page_says_the_expected_error_reports_and_bytes(client: Client, sent: list[str]) -> None:
    page = page_of(client, epsilon="1", population_size="10000", sampling_rate="1")
    # 1.96·√(10,000·e)/(e − 1)
    assert "Expect ± 190 devices (± 1.9 points)" in page
    assert "66 stored, 146 sent once" in page
    assert "10,000, if every participating device sends" in page
    sampled = page_of(client, sampling_rate="0.1")
    assert re.search(r"About 1,000; 94[12] to 1,05[89] in 95 of 100 repeats", sampled)


@pytest.mark.parametrize(
    ("trust", "devices", "said"),
    [
        ("single_server", "500", "Nothing would be released: about 500 devices would report"),
        ("two_server", "500", "Nothing would be released: about 500 devices would report"),
        ("two_server", "1050", "A result comes in only 26% of cases"),
    ],
)
def test_page_without_a_likely_result_names_the_cohort_instead(
    client: Client, sent: list[str], trust: str, devices: str, said: str
) -> None:
    page = page_of(client, cohort_size="1000", population_size=devices, trust=trust)
    assert said in page
    found = re.search(r"The largest cohort with which a result is likely is (\d+)\.", page)
    assert found is not None
    largest = int(found[1])
    for promise in ("Expect ±", "About 95 of 100 repeats", "reports to expect"):
        assert promise not in page
    assert "Expect ±" in page_of(client, cohort_size=largest, population_size=devices, trust=trust)
    assert "is likely is" in page_of(client, cohort_size=largest + 1, population_size=devices, trust=trust)


def test_page_plans_by_segment_and_leaves_their_names_to_the_recipe(client: Client, sent: list[str]) -> None:
    asked = {"unknown": "nothing", "epsilon": "4", "cohort_size": "500", "segments": "2"}
    page = page_of(client, **asked)
    assert "If all 2 are equally large, about 5,000 devices each." in page
    assert "Each surely has a cohort of its own, and is shown." in page
    assert "none surely has a cohort" in page_of(client, **{**asked, "cohort_size": "5000"})
    link = re.search(r'href="([^"]+)">New recipe with the numbers as', page)
    assert link
    client.force_login(analyst())
    form = client.get(link[1]).context["form"]
    assert form["epsilon"].value() == "4"
    assert not form["segments"].value()
    assert 'name="segments"' not in page_of(client, statistic="mean", unknown="nothing")
    refused = client.get(reverse("plan"), {**asked, "segments": "21"})
    assert refused.status_code == 422
    assert "segments" in refused.context["form"].errors


def test_page_answers_what_to_choose_and_leads_to_a_recipe_with_it(client: Client, sent: list[str]) -> None:
    page = page_of(client, sent, **ASKED)
    found = re.search(r"For ± 2 points, choose a privacy loss of ε = ([0-9.]+)\.", page)
    assert found
    link = re.search(r'class="button" href="([^"]+)"', page)
    assert link
    client.force_login(analyst())
    form = client.get(link[1]).context["form"]
    assert str(form["epsilon"].value()) == found[1]
    assert form["cohort_size"].value() == 500
    # The recipe's page compares it with what comes out.
    assert form["target_margin"].value() == "2"
    assert form["population_size"].value() == 10_000


def test_page_says_what_would_meet_targets_that_cannot_be_met(client: Client, sent: list[str]) -> None:
    page = page_of(
        client, sent, margin="5", aggregator_epsilon="", population_size="100", sampling_rate="0.7",
        cohort_size="10", delta="0.001",
    )  # fmt: skip
    assert "No privacy loss (ε) gives ± 5 points" in page
    assert re.search(r"It would be met with .*a population of [\d,]+", page)


def test_every_chart_has_a_caption_and_a_table_that_says_the_same(client: Client, sent: list[str]) -> None:
    page_of(client, sent, **ASKED)
    page = page_text(client.get(reverse("plan"), ASKED))
    figures = [json.loads(html.unescape(text)) for text in re.findall(r'data-plot="([^"]+)"', page)]
    assert len(figures) == 4
    assert page.count("<figcaption>") == page.count("The same as a table") == len(figures)
    (rows,) = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)[:1]
    lines = [trace for trace in figures[0]["data"] if trace["mode"] == "lines"]
    assert rows.count("<tr>") == len(lines[0]["x"])
    assert rows.count("<td>") == sum(len(line["y"]) for line in lines)
    for figure in figures:
        names = [(trace["meta"], trace.get("line", {}).get("dash")) for trace in figure["data"]]
        drawn = [name for name in names if name[0] != "current"]
        assert len(set(drawn)) == len(drawn)  # told apart by dashes as well
        assert "color" not in json.dumps(figure)
        assert "overlaying" not in json.dumps(figure)  # two scales never share a panel


def test_htmx_gets_the_figures_alone_or_the_fields_that_are_wrong(client: Client, sent: list[str]) -> None:
    page = page_text(client.get(reverse("plan"), headers=HTMX))
    assert "<html" not in page
    assert "Expect" in page
    response = client.get(reverse("plan"), {"epsilon": "-3"}, headers=HTMX)
    assert response["HX-Retarget"] == "#plan-problem"
    page = page_text(response)
    assert "<strong>Privacy loss (ε):</strong>" in page
    assert "Expect" not in page
    for headers in ({}, HTMX):
        page = page_text(client.get(reverse("plan"), {"cohort_size": "", "epsilon": ""}, headers=headers))
        for label in ("Cohort size", "Privacy loss (ε)"):
            assert f"<li><strong>{label}:</strong> Enter a value.</li>" in page
        assert "Computing" not in page


def test_page_with_an_impossible_value_names_its_field(client: Client) -> None:
    two_servers = (
        "“Two servers” cannot collect “Mean number of events per device”: servers that cannot "
        "read reports cannot check those of this statistic. Choose “One server”."
    )
    every = "Choose “One server” or “Two servers” or “Two servers with one joint key (experimental)”."
    for query, field, said in (
        ({"epsilon": "0"}, "epsilon", ""),
        ({"population_size": "0"}, "population_size", ""),
        ({"population_size": "9" * 5_000}, "population_size", ""),
        ({"margin": "nan"}, "margin", ""),
        ({"margin": "", "aggregator_epsilon": ""}, "unknown", ""),
        ({"unknown": "k"}, "unknown", ""),
        ({"encryption": "rot13"}, "encryption", ""),
        ({"statistic": "mean", "guarantee": "local", "k": "1000", "epsilon": "0.0001"}, "epsilon", ""),
        ({"statistic": "mean", "trust": "two_server"}, "trust", two_servers),
        ({"trust": "no_server"}, "trust", f"There is no such choice. {every}"),
        ({"trust": ""}, "trust", "Enter a value."),
    ):
        response = client.get(reverse("plan"), query)
        assert response.status_code == 422
        errors = response.context["form"].errors
        assert list(errors) == [field]
        assert not said or errors[field] == [said]
    assert client.get(reverse("plan"), {"statistic": "median"}).status_code == 404
    assert client.get(reverse("plan-rest"), {"epsilon": "-3"}).status_code == 404


def solved(key: str) -> dict[str, Any]:
    """The plan that was asked for, without what takes longest."""
    question = Asked.from_mapping(Question.objects.get(key=key).asked)
    return part_of(plan_of(question, Depth.SOLVED))


def rest_of(page: str) -> str:
    """Where the page asks for the rest."""
    (rest,) = re.findall(r'hx-get="(/plan/rest/[^"]+)"', html.unescape(page))
    return str(rest)


def test_page_shows_the_first_part_once_and_then_the_whole(client: Client, sent: list[str]) -> None:
    page = page_of(client, **ASKED)
    assert "The rest follows" in page
    rest = rest_of(page)
    assert "begun" not in rest
    assert client.get(rest).status_code == 204
    (key,) = sent
    begin(key, solved(key))
    first = client.get(rest)
    assert first["HX-Retarget"] == "#plan-figures"
    page = page_text(first)
    assert "choose a privacy loss of ε" in page
    assert "The rest follows" in page
    # From here on it asks for more than that, with everything that was typed in.
    later = rest_of(page)
    assert dict(parse_qsl(urlsplit(later).query)) == {**dict(parse_qsl(urlsplit(rest).query)), "begun": "1"}
    assert client.get(later).status_code == 204
    Question.objects.filter(key=key).update(begun_at=None)
    work([key])
    whole = client.get(later)
    assert whole["HX-Retarget"] == "#plan-figures"
    assert "The rest follows" not in page_text(whole)
    assert "/plan/rest/" not in page_text(whole)
    assert sent == [key]


def test_page_with_the_first_part_stops_if_the_task_is_lost(client: Client, sent: list[str]) -> None:
    page_of(client)
    (key,) = sent
    begin(key, solved(key))
    later = rest_of(page_of(client))
    leases_end()
    assert client.get(later).status_code == 204
    assert sent == [key, key], "its worker died, so another one is asked"
    leases_end()
    response = client.get(later)
    assert response.status_code == 286
    assert "No worker has answered" in page_text(response)


def test_every_aggregator_epsilon_has_its_delta_and_relation(client: Client, sent: list[str]) -> None:
    terms = "δ = 1e-6, under replacement"
    page = page_of(client, sent, margin="2", aggregator_epsilon="1", delta="0.000001")
    (large,) = re.findall(r'<p class="figure-large">.*?</p><p>(.*?)</p>', page)
    assert re.search(rf"\(privacy loss ε = [0-9.]+, {terms}\)\.$", large)
    assert f"For ± 2 points at a privacy loss of the result of ε = 1 ({terms}), choose a " in page
    # Bits that are hardly scrambled, and a small cohort that nobody may change.
    sent.clear()
    page = page_of(
        client, sent, margin="", aggregator_epsilon="0.01", population_size="300", cohort_size="300",
        sampling_rate="1", epsilon="5", unknown="population_size",
    )  # fmt: skip
    missed, nearest = re.findall(r"No population size gives .*?\. (?=With)|With a population.*?\)\.", page)
    wanted = f"a privacy loss of the result of ε = 0.01 ({terms})"
    assert missed == f"No population size gives {wanted}. "
    assert re.search(rf"the privacy loss of the result is ε = [0-9.]+ \({terms}\)\.$", nearest)


def test_new_recipe_takes_over_possible_numbers_and_names_the_others(client: Client) -> None:
    client.force_login(analyst())
    query = {"statistic": "histogram", "epsilon": "0.5", "k": "4", "cohort_size": "-1", "question": "<b>Why?"}
    response = client.get(reverse("recipe-new"), query)
    form = response.context["form"]
    assert (form["epsilon"].value(), form["k"].value(), form["cohort_size"].value()) == ("0.5", 4, 1_000)
    assert form["question"].value() is None
    assert "Not taken over, because it cannot be: Cohort size." in page_text(response)


def test_page_finds_all_its_numbers_computed(
    client: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"statistic": "mean", "k": "2", "guarantee": "aggregator"}
    page_of(client, **asked)
    computes_nothing(monkeypatch)
    page = page_of(client, **asked)
    assert "Single answers are hardly scrambled here" in page
    assert "The rest follows" in page
