"""Pages of series: a recipe is repeated, its rounds give a trend, and what changed is said in words."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from results.excerpt import interval_of
from results.parts import joint_part
from series.models import Series
from series.operations import rounds_advance, series_mark
from series.selectors import rounds_of, trend, trends
from tests.clock import time_is
from tests.factories import published_recipe, raw_reports_submit, report_of_values
from tests.page_text import page_text
from tests.scenes import finish

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def now(monkeypatch):
    """The time, which tests set."""
    moment = [START]
    time_is(monkeypatch, lambda: moment[0])
    return moment


def repeated(signed_in, **changes):
    recipe = published_recipe(epsilon=8.0, cohort_size=20, **changes)
    answer = signed_in.post(reverse("series-new", args=[recipe.identifier]), {"every": "week", "rounds": 3})
    series = Series.objects.get()
    assert answer.headers["Location"] == reverse("series", args=[series.identifier])
    return series


def series_page(client, series):
    return page_text(client.get(reverse("series", args=[series.identifier])))


def asked(series, values):
    """The next round, from its opening to its result."""
    rounds_advance()
    recipe = series.rounds.filter(state="published").order_by("-number").first().recipe
    reports = [report_of_values(recipe, value) for value in values]
    assert raw_reports_submit(recipe=recipe, reports=reports) == []
    finish(recipe)
    return recipe


def results_of(series):
    return [point for point in trend(series, rounds_of(series)) if point.values]


def trace_of(chart):
    """The estimates of a chart."""
    return next(trace for trace in json.loads(chart.data)["data"] if trace["name"] == "estimate")


def test_a_trend_says_what_changed_by_more_than_noise_and_shows_gaps(client, signed_in, now):
    series = repeated(signed_in)
    asked(series, [[0]] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [[1]] * 40)
    now[0] = START + timedelta(days=30)
    rounds_advance()
    series_mark(series=series, at=START, note="version 2.1 released", actor=None)
    of_round = client.get(reverse("recipe", args=[series.rounds.get(number=2).recipe.identifier]))
    link = f'<a href="{reverse("series", args=[series.identifier])}"><bdi>Crash counter</bdi></a>'
    assert link in page_text(of_round)
    drawn = trace_of(of_round.context["history"])
    assert drawn["y"] == [pytest.approx(point.part.shares.values[0] * 100) for point in results_of(series)]
    first = client.get(reverse("recipe", args=[series.rounds.get(number=1).recipe.identifier]))
    assert first.context["history"] is None, "one result is no history"
    client.logout()
    page = series_page(client, series)
    for said in (
        "Trend of Crash counter",
        "3 rounds. All of them were asked.",
        "Up by 100.1 points (94.9 to 100.0)",
        "% of the devices asked",
        "more than noise",
        "No result: nothing ran here while it would have been asked.",
        "version 2.1 released",
    ):
        assert said in page
    assert "Stop the series" not in page


def test_more_reports_of_the_same_share_are_no_change(signed_in, now):
    """The count of devices doubles; every one of them has the event in both rounds."""
    series = repeated(signed_in)
    asked(series, [[1]] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [[1]] * 120)
    page = series_page(signed_in, series)
    assert "No change beyond noise" in page
    assert " points)." in page


def test_a_series_opens_and_is_shown_in_its_time_zone(signed_in, now):
    now[0] = datetime(2026, 3, 25, 8, tzinfo=UTC)
    recipe = published_recipe(epsilon=8.0, cohort_size=20)
    entered = {"every": "week", "rounds": 3, "time_zone": "Europe/Berlin"}
    signed_in.post(reverse("series-new", args=[recipe.identifier]), entered)
    series = Series.objects.get()
    opens = list(series.rounds.order_by("number").values_list("opens_at", flat=True))
    assert opens == [now[0], datetime(2026, 4, 1, 7, tzinfo=UTC), datetime(2026, 4, 8, 7, tzinfo=UTC)]
    rounds_advance()
    address = reverse("series", args=[series.identifier])
    page = page_text(signed_in.get(address))
    assert "25 Mar 2026, 09:00 Europe/Berlin" in page
    assert "1 Apr 2026, 09:00 Europe/Berlin</time>." in page
    file = signed_in.get(reverse("api-series", args=[series.identifier])).json()
    assert (file["file"]["time_zone"], file["rounds"][1]["opens_at"]) == (
        "Europe/Berlin",
        "2026-04-01T07:00:00Z",
    )


def test_what_no_series_can_be_is_refused_at_its_field(signed_in):
    address = reverse("series-new", args=[published_recipe().identifier])
    for entered, error in (
        ({"every": "week", "rounds": 3, "time_zone": "Berlin"}, "Must be a name of the IANA database"),
        ({"every": "day", "rounds": 3}, "Must be at least 4 days (345,600 s)"),
        ({"every": "week", "rounds": 0}, "at least 1"),
        ({"every": "week", "rounds": 401}, "at most 400"),
        ({"every": "week", "rounds": "x"}, "Enter a number"),
        ({"every": "year", "rounds": 3}, "Select a valid choice"),
        ({}, "This field is required"),
    ):
        answer = signed_in.post(address, entered)
        assert answer.status_code == 422
        assert error in page_text(answer)
    assert not Series.objects.exists()


def test_only_analysts_mark_and_stop_from_the_page(client, signed_in):
    page = page_text(client.get(reverse("series-list")))
    assert "No series yet." in page
    assert f'<a class="button" href="{reverse("goal", args=["trend"])}">' in page
    series = repeated(signed_in)
    assert reverse("series", args=[series.identifier]) in client.get(reverse("series-list")).content.decode()
    for name in ("series-stop", "series-mark"):
        assert Client().post(reverse(name, args=[series.identifier])).status_code == 302
    assert series.rounds.filter(state="planned").count() == 3
    refused = signed_in.post(reverse("series-mark", args=[series.identifier]), {"note": "x" * 121})
    assert refused.status_code == 422
    assert "must be one line of 1 to 120 characters" in page_text(refused)
    series.rounds.filter(number=1).update(failures=3, problem="the helper is silent", retry_at=START)
    due = "Round 1 is due and could not be published: the helper is silent. 3 attempts failed"
    page = series_page(signed_in, series)
    assert due in page
    assert page.index("3 rounds are still planned") < page.index("Mark the trend now"), "what the poll swaps"
    signed_in.post(reverse("series-mark", args=[series.identifier]), {"note": "version 3"})
    signed_in.post(reverse("series-stop", args=[series.identifier]))
    page = series_page(signed_in, series)
    assert "version 3" in page
    assert "the series was stopped" in page
    again = signed_in.post(reverse("series-stop", args=[series.identifier]), follow=True)
    assert "Nothing was changed" in page_text(again)


def test_intervals_of_a_trend_hold_together_and_of_one_result_stay_its_own(client, signed_in, now):
    series = repeated(signed_in)
    asked(series, [[0]] * 60)
    (alone,) = [point for point in trend(series, series.rounds.all()) if point.values]
    own = interval_of(alone.release)
    assert alone.interval == own
    now[0] = START + timedelta(days=7)
    asked(series, [[1]] * 60)
    first, second = (point for point in trend(series, series.rounds.all()) if point.values)
    assert first.interval.level == own.level == 0.95
    # Of two results each may fail with half of 5% only: it reaches further where it can.
    assert first.interval.high[0] > own.high[0]
    assert second.interval.low[0] < interval_of(second.release).low[0]
    page = series_page(client, series)
    assert "95% intervals, of all rounds together" in page


def test_programs_read_the_same_trend(client, signed_in, now):
    series = repeated(signed_in)
    asked(series, [[0]] * 60)
    now[0] = START + timedelta(days=7)
    recipe = asked(series, [[1]] * 60)
    client.logout()
    (listed,) = client.get(reverse("api-series-list")).json()["results"]
    assert (listed["id"], listed["stopped_at"]) == (series.identifier, None)
    found = client.get(reverse("api-series", args=[series.identifier])).json()
    first, second, third = found["rounds"]
    assert (first["change"], third["state"], third["values"]) == (None, "planned", [])
    assert (second["recipe"], second["outcome"]) == (recipe.identifier, "released")
    assert second["change"]["difference"] == [second["values"][0] - first["values"][0]]
    assert second["change"]["more_than_noise"] == [True]
    assert second["change"]["share"]["difference"] == pytest.approx([1.0], abs=0.02)
    assert client.get(reverse("api-series", args=["0" * 16])).status_code == 404


def test_a_trend_follows_one_segment_and_says_where_it_is_hidden(client, signed_in, now):
    series = repeated(signed_in, segments=["2.0", "2.1"])
    rare, often, other = [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]
    asked(series, [rare] * 40 + [other] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [often] * 40 + [other] * 60)
    now[0] = START + timedelta(days=14)
    asked(series, [often] * 40)
    path = reverse("series", args=[series.identifier])
    old, new = (page_text(client.get(path, {"segment": label})) for label in ("2.0", "2.1"))
    assert "Up by" in old
    assert "of the segment" in old
    assert '<a href="?segment=2.1"><bdi>2.1</bdi></a>' in old
    assert "Up by" not in new
    assert "No change beyond noise" in new
    assert "No result: it may have had fewer than 20 devices, the cohort size." in new
    assert client.get(path, {"segment": "3"}).status_code == 404

    answer = client.get(reverse("api-series", args=[series.identifier]), {"segment": "2.1"}).json()
    assert answer["segment"] == "2.1"
    first, second, third = answer["rounds"]
    assert first["interval"]["level"] == 0.95
    assert second["change"]["more_than_noise"] == [False]
    assert (third["outcome"], third["values"], third["change"]) == ("released", [], None)
    refused = client.get(reverse("api-series", args=[series.identifier]), {"segment": "3"})
    assert (refused.status_code, refused.json()["field"]) == (400, "segment")


def test_series_by_segment_says_what_moved_and_since_a_baseline(client, signed_in, now, monkeypatch):
    series = repeated(signed_in, segments=["2.0", "2.1"])
    still, never, often = [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]
    for week, moved in enumerate((never, often, often)):
        now[0] = START + timedelta(days=7 * week)
        asked(series, [moved] * 40 + [still] * 60)
    path = reverse("series", args=[series.identifier])
    page = client.get(path)
    text = page_text(page)
    assert "No segment shows a change beyond noise since the week before." in text
    assert text.index("<summary>Table of all rounds</summary>") < text.index("What came of each round")
    rows = page.context["segment_rows"]["newest"]
    assert [row.round.number for row in rows] == [3, 2, 1]
    assert all(text for row in rows for _, text in row.named)
    assert "earlier round" not in text
    monkeypatch.setattr("pages.series.views.NEWEST", 1)
    assert page_text(client.get(path)).count("<summary>2 earlier rounds</summary>") == 2, "both tables"
    compared = client.get(path, {"baseline": "1"})
    (_, since), text = compared.context["movements"], page_text(compared)
    assert since.level == "95%", "as that of the chart, and of rules"
    assert [moved.label for moved in since.moved] == ["2.0"]
    assert since.still == 1
    assert "is up by" in text
    assert "since round 1" in text
    for wrong in ("3", "9", "x"):
        assert "Choose a round with a result" in page_text(client.get(path, {"baseline": wrong}))


def test_intervals_of_all_segments_count_every_result_of_the_series(client, signed_in, now):
    """A segment that is hidden in a round gets no more of the failure than the others."""
    series = repeated(signed_in, segments=["2.0", "2.1"])
    for week in range(3):
        now[0] = START + timedelta(days=7 * week)
        asked(series, [[1, 0, 0, 0]] * 40 + [[0, 0, 0, 1]] * (60 if week else 0))
    found = trends(series, list(series.rounds.all()), ["2.0", "2.1"])
    for label, points in found.items():
        for point in points:
            if point.values:
                assert point.part == joint_part(point.release, label, among=3)
    assert [bool(point.values) for point in found["2.1"]][:3] == [False, True, True]
