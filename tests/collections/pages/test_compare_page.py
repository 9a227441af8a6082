"""Results are compared where they answer the same question, and elsewhere it is said why not."""

import csv
import io

import pytest
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
    assert "All of them hold together with a probability of at least 90%" in page
    assert "Up by 50.0 points (46.2 to 51.9): more than noise." in page
    assert "No change beyond noise" in page
    assert "Differences to result 1" in page
    assert page.count('<svg role="img"') == 4  # two charts, wide and narrow


def test_program_and_file_say_the_same_to_the_last_digit(client: Client) -> None:
    half, all_ = counted(30, 30), counted(90, 0)
    answer = asked(client, half, all_, path=reverse("api-comparison")).json()
    first, second = answer["results"]
    assert (answer["first"], answer["level"], first["change"]) == (half.identifier, 0.9, None)
    change = second["change"]
    assert change["difference"] == [second["estimate"][0] - first["estimate"][0]]
    assert change["share"]["difference"] == pytest.approx([0.5], abs=0.02)
    rows = list(
        csv.DictReader(
            io.StringIO(asked(client, half, all_, path=reverse("comparison-csv")).content.decode())
        )
    )
    assert [row["recipe"] for row in rows] == [half.identifier, all_.identifier]
    assert rows[0]["difference"] == ""
    assert float(rows[1]["share_low"]) == change["share"]["interval"]["low"][0]
    assert rows[1]["more_than_noise"] == "True"


def test_more_results_are_compared_at_the_same_level_so_intervals_are_wider(client: Client) -> None:
    recipes = [counted(30, 30) for _ in range(3)]
    two, three = (
        asked(client, *recipes[:many], path=reverse("api-comparison")).json()["results"][1]["change"]
        for many in (2, 3)
    )
    assert two["interval"]["level"] == three["interval"]["level"] == 0.9
    assert three["interval"]["high"][0] > two["interval"]["high"][0]


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


def test_without_an_event_the_question_must_be_the_same(client: Client) -> None:
    assert obstacles(client, counted(20, 0), counted(20, 0)) == []
    assert obstacles(client, counted(20, 0), counted(20, 0, question="Other?")) == ["question"]


def test_labels_and_parameters_that_say_what_is_counted_are_held_to_each_other(client: Client) -> None:
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
    other = counted(20, 0, question="Other?")
    one, same = counted(20, 0), counted(30, 0)
    result = page_text(client.get(reverse("recipe", args=[one.identifier])))
    assert f'{COMPARE}?recipe={one.identifier}">Compare with …</a>' in result
    page = page_text(asked(client, one))
    assert page.index(same.identifier) < page.index(other.identifier)
    assert "Can be compared" in page
    assert "Neither names its event, and the questions differ." in page_text(asked(client, one, other))


def test_home_lets_results_be_chosen_where_there_are_two(client: Client) -> None:
    counted(20, 0)
    assert "Compare the chosen results" not in page_text(client.get("/"))
    counted(20, 0)
    page = page_text(client.get("/"))
    assert page.count('type="checkbox" name="recipe"') == 2
    assert "Compare the chosen results" in page


@pytest.mark.parametrize("path", [COMPARE, "/api/v1/comparisons/"])
@pytest.mark.parametrize("wrong", [["a" * 64, "b" * 64], ["x"] * 11, ["é"], ["f" * 64] * 2])
def test_what_cannot_be_meant_is_refused_by_name(client: Client, path: str, wrong: list[str]) -> None:
    response = client.get(path, {"recipe": wrong})
    assert response.status_code == (422 if path == COMPARE else 400)
    assert ("a recipe must" if path == COMPARE else "recipe: must") in response.content.decode()


def test_nothing_chosen_shows_what_there_is(client: Client) -> None:
    assert "There is no result yet." in page_text(client.get(COMPARE))
    one = counted(20, 0)
    assert one.identifier in page_text(client.get(COMPARE))
    assert client.get("/api/v1/comparisons/", {"recipe": one.identifier}).json()["field"] == "recipe"
    assert client.get(reverse("comparison-csv")).status_code == 404


def test_one_segment_is_compared_by_its_own_devices(client: Client) -> None:
    few, many = segmented((10, 40), (20, 20)), segmented((40, 10), (20, 20))
    path, chosen = reverse("api-comparison"), ({}, {"segment": SEGMENTS[0]}, {"segment": SEGMENTS[1]})
    answers = [asked(client, few, many, path=path, **segment).json() for segment in chosen]
    assert [answer["segment"] for answer in answers] == [None, *SEGMENTS[:2]]
    assert {answer["level"] for answer in answers} == {0.9}
    shares = [answer["results"][1]["change"]["share"] for answer in answers]
    # 30 of 90, 30 of 50 and 0 of 40 devices. 1,080 bits flip with 1.2e-4 each: more than 5 with 5e-9.
    told = [share["difference"][0] for share in shares]
    assert told == pytest.approx([30 / 90, 30 / 50, 0.0], abs=0.2)
    assert [share["more_than_noise"] for share in shares] == [[True], [True], [False]]

    page = page_text(asked(client, few, many, segment=SEGMENTS[1]))
    assert '<strong aria-current="true">2.1 &amp; later</strong>' in page
    assert "&amp;segment=nightly" in page
    assert "No change beyond noise" in page
    assert "percentage points of the devices of the segment" in page
    content = asked(client, few, many, path=reverse("comparison-csv"), segment=SEGMENTS[0]).content
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["segment"] for row in rows] == [SEGMENTS[0]] * 2
    assert [float(row["estimate"]) for row in rows] == [one["estimate"][0] for one in answers[1]["results"]]


def test_intervals_of_a_segment_reach_further_among_more_results(client: Client) -> None:
    recipes = [segmented((20, 20)) for _ in range(3)]
    changes = [
        asked(client, *recipes[:many], path=reverse("api-comparison"), segment=SEGMENTS[0]).json()["results"][
            1
        ]["change"]
        for many in (2, 3)
    ]
    for less, more in (changes, [change["share"] for change in changes]):
        assert less["interval"]["level"] == more["interval"]["level"] == 0.9
        assert more["interval"]["low"][0] < less["interval"]["low"][0]
        assert less["interval"]["high"][0] < more["interval"]["high"][0]


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
