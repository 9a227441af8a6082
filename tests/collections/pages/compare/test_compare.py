"""Results are compared where they answer the same question, and elsewhere it is said why not."""

import csv
import io

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import closed_stream, finished_recipe, open_stream, simulated_recipe

pytestmark = pytest.mark.django_db

COMPARE = "/compare/"
SURE = {"epsilon": 8.0, "cohort_size": 20}


def counted(having: int, others: int, **changes: object) -> Recipe:
    return finished_recipe([[1]] * having + [[0]] * others, **{**SURE, **changes})


SEGMENTS = ["2.0", "2.1 & later", "nightly"]


def segmented(*counts: tuple[int, int]) -> Recipe:
    """Of each of the first segments, devices with and without the event; at ε = 9 few of their bits flip."""
    reports = []
    for place, (having, lacking) in enumerate(counts):
        for cell, devices in ((2 * place + 1, having), (2 * place, lacking)):
            reports += [[int(at == cell) for at in range(2 * len(SEGMENTS))]] * devices
    return finished_recipe(reports, epsilon=9.0, cohort_size=20, segments=SEGMENTS)


def asked(client: Client, *recipes: Recipe, path: str = COMPARE, **more: str):
    return client.get(path, {"recipe": [recipe.identifier for recipe in recipes], **more})


def obstacles(client: Client, one: Recipe, other: Recipe) -> list[str]:
    answer = asked(client, one, other, path=reverse("api-comparison")).json()
    assert answer["results"][0]["obstacles"] == []
    assert (answer["results"][1]["change"] is None) == bool(answer["results"][1]["obstacles"])
    return answer["results"][1]["obstacles"]


def test_page_tells_differences_of_shares_with_their_interval_and_charts(client: Client) -> None:
    half, all_, more = counted(30, 30), counted(60, 0), counted(60, 60)
    page = page_text(asked(client, half, all_, more))
    assert "All of them hold together with a probability of at least 95%" in page
    assert "Up by 50.0 points (45.4 to 52.3): more than noise." in page
    assert "No change beyond noise" in page
    assert "Differences to result 1" in page
    assert page.count('<svg role="img"') == 4  # two charts, wide and narrow


def test_program_and_file_say_the_same_to_the_last_digit(client: Client) -> None:
    half, all_, third = counted(30, 30), counted(90, 0), counted(30, 30)
    answer = asked(client, half, all_, path=reverse("api-comparison")).json()
    first, second = answer["results"]
    assert (answer["first"], answer["level"], first["change"]) == (half.identifier, 0.95, None)
    change = second["change"]
    assert change["difference"] == [second["estimate"][0] - first["estimate"][0]]
    assert change["share"]["difference"] == pytest.approx([0.5], abs=0.02)
    before, after = rows_of(asked(client, half, all_, path=reverse("comparison-csv")))
    assert [before["recipe"], after["recipe"]] == [half.identifier, all_.identifier]
    assert before["difference"] == ""
    assert float(after["share_low"]) == change["share"]["interval"]["low"][0]
    assert after["more_than_noise"] == "True"
    # Of three results, each interval is wider at the same level.
    three = asked(client, half, all_, third, path=reverse("api-comparison")).json()["results"][1]["change"]
    assert change["interval"]["level"] == three["interval"]["level"] == 0.95
    assert three["interval"]["high"][0] > change["interval"]["high"][0]


def rows_of(file: HttpResponse) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.content.decode())))


def test_reasons_are_all_that_differs(client: Client) -> None:
    named = {"event": "crash", "event_definition": "The application ends by itself."}
    one = counted(20, 0, **named)
    assert obstacles(client, one, counted(0, 30, question="Again?", epsilon=4.0, **named)) == []
    for changes, found in (
        ({"event": "start"}, ["event"]),
        ({"event_definition": "It hangs."}, ["definition"]),
        ({"event_definition": None}, ["definition_unknown"]),
        ({"event": None, "event_definition": None}, ["event_unknown"]),
        ({"population": "everyone", "steps": 8}, ["window"]),
        ({"step_seconds": 3600, "event": "start"}, ["window", "event"]),
    ):
        assert obstacles(client, one, counted(20, 0, **{**named, **changes})) == found, changes
    assert obstacles(client, one, simulated_recipe({1: 20}, **{**SURE, **named})) == ["simulation"]
    assert obstacles(client, one, published_recipe(**named)) == ["no_result"]
    assert obstacles(client, one, counted(1, 1, **named)) == ["no_result"]
    # Without an event, the question must be the same.
    assert obstacles(client, counted(20, 0), counted(20, 0)) == []
    assert obstacles(client, counted(20, 0), counted(20, 0, question="Other?")) == ["question"]


def test_results_with_other_labels_or_parameters_are_not_compared(client: Client) -> None:
    histogram = {"statistic": "histogram", "k": 1, **SURE}
    one = finished_recipe([[1, 0]] * 30, **histogram)
    other = finished_recipe([[0, 1]] * 40, **histogram)
    page = page_text(asked(client, one, other))
    assert "2 of 2 shares changed by more than noise." in page
    assert "Result 2 less result 1" in page
    labelled = finished_recipe([[1, 0]] * 30, labels=["none", "some"], **histogram)
    assert obstacles(client, one, labelled) == ["labels"]
    longer = finished_recipe([[1, 0, 0]] * 30, **{**histogram, "k": 2})
    assert obstacles(client, one, longer) == ["parameters"]
    assert obstacles(client, one, counted(20, 0)) == ["statistic"]
    lone = closed_stream(open_stream([1, 2]))
    assert "statistic" in obstacles(client, one, lone)


def test_page_of_one_result_offers_those_first_that_can_be_compared(client: Client) -> None:
    assert "There is no result yet." in page_text(client.get(COMPARE))
    other = counted(20, 0, question="Other?")
    one, same = counted(20, 0), counted(30, 0)
    assert one.identifier in page_text(client.get(COMPARE))
    result = page_text(client.get(reverse("recipe", args=[one.identifier])))
    assert f'{COMPARE}?recipe={one.identifier}">Compare with …</a>' in result
    page = page_text(asked(client, one))
    assert page.index(same.identifier) < page.index(other.identifier)
    assert "Can be compared" in page
    assert "Neither names its event, and the questions differ." in page_text(asked(client, one, other))
    assert asked(client, one, path=reverse("api-comparison")).json()["field"] == "recipe"
    assert client.get(reverse("comparison-csv")).status_code == 404


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [(COMPARE, 422, "a recipe must"), ("/api/v1/comparisons/", 400, "recipe: must")],
)
def test_what_cannot_be_meant_is_refused_by_name(client: Client, path: str, status: int, said: str) -> None:
    for wrong in (["a" * 64, "b" * 64], ["x"] * 11, ["é"], ["f" * 64] * 2):
        response = client.get(path, {"recipe": wrong})
        assert response.status_code == status
        assert said in response.content.decode()


def test_one_segment_is_compared_by_its_own_devices(client: Client) -> None:
    few, many = segmented((10, 40), (20, 20)), segmented((40, 10), (20, 20))
    path, chosen = reverse("api-comparison"), ({}, {"segment": SEGMENTS[0]}, {"segment": SEGMENTS[1]})
    answers = [asked(client, few, many, path=path, **segment).json() for segment in chosen]
    assert [answer["segment"] for answer in answers] == [None, *SEGMENTS[:2]]
    assert {answer["level"] for answer in answers} == {0.95}
    shares = [answer["results"][1]["change"]["share"] for answer in answers]
    # 30 of 90, 30 of 50 and 0 of 40 devices. 1,080 bits flip with 1.2e-4 each: more than 5 with 5e-9.
    told = [share["difference"][0] for share in shares]
    assert told == pytest.approx([30 / 90, 30 / 50, 0.0], abs=0.2)
    assert [share["more_than_noise"] for share in shares] == [[True], [True], [False]]

    page = page_text(asked(client, few, many, segment=SEGMENTS[1]))
    assert '<strong aria-current="true"><bdi>2.1 &amp; later</bdi></strong>' in page
    assert "&amp;segment=nightly" in page
    assert "No change beyond noise" in page
    assert "percentage points of the devices of the segment" in page
    rows = rows_of(asked(client, few, many, path=reverse("comparison-csv"), segment=SEGMENTS[0]))
    assert [row["segment"] for row in rows] == [SEGMENTS[0]] * 2
    assert [float(row["estimate"]) for row in rows] == [one["estimate"][0] for one in answers[1]["results"]]


def test_a_hidden_segment_says_why_and_an_unknown_one_is_refused(client: Client) -> None:
    one, other = segmented((20, 60)), segmented((20, 60), (20, 60), (1, 1))
    path = reverse("api-comparison")
    for segment in SEGMENTS[1:]:
        answer = asked(client, one, other, path=path, segment=segment).json()
        assert answer["results"][1]["obstacles"] == ["segment_hidden"]
    assert answer["results"][1]["estimate"] == []
    page = page_text(asked(client, one, other, segment="nightly"))
    assert page.count("Not shown: it may have had fewer than 20 devices") == 2
    assert "too few devices of this segment to show it" in page
    refused = asked(client, one, other, path=path, segment="3.0")
    assert (refused.status_code, refused.json()["field"]) == (400, "segment")
    assert asked(client, one, other, segment="3.0").status_code == 422
    assert asked(client, counted(20, 0), one, path=path, segment="2.0").status_code == 400


def test_each_row_of_a_comparison_begins_with_its_name(client: Client) -> None:
    one, other = counted(20, 0, name="First week"), counted(0, 20, name="Second week")
    page = page_text(asked(client, one, other))
    assert f'1. <a href="/recipes/{one.identifier}/"><bdi>First week</bdi></a>' in page
    assert f'2. <a href="/recipes/{other.identifier}/"><bdi>Second week</bdi></a>' in page
