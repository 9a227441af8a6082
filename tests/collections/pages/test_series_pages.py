"""Pages of series: a recipe is repeated, its rounds give a trend, and what changed is said in words."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from pages.series.charts import trend_chart
from releases.selectors import interval_of
from reports.operations import reports_submit
from series.models import Series
from series.operations import rounds_advance, series_mark
from series.selectors import trend
from tests.clock import time_is
from tests.factories import published_recipe, report_of_values
from tests.page_text import page_text
from tests.scenes import analyst, finish

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def publisher(client):
    client.force_login(analyst())
    return client


def repeated(publisher, **changes):
    recipe = published_recipe(epsilon=8.0, cohort_size=20, **changes)
    answer = publisher.post(reverse("series-new", args=[recipe.identifier]), {"every": "week", "rounds": 3})
    series = Series.objects.get()
    assert answer.headers["Location"] == reverse("series", args=[series.identifier])
    return series


def asked(series, values):
    """The next round, from its opening to its result."""
    rounds_advance()
    recipe = series.rounds.filter(state="published").order_by("-number").first().recipe
    reports = [report_of_values(recipe, value) for value in values]
    assert reports_submit(recipe=recipe, reports=reports, decode=lambda raw: raw) == []
    finish(recipe)
    return recipe


def test_a_trend_says_what_changed_by_more_than_noise_and_shows_gaps(client, publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher)
    asked(series, [[0]] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [[1]] * 40)
    now[0] = START + timedelta(days=30)
    rounds_advance()
    series_mark(series=series, at=START, note="version 2.1 released", actor=None)

    round_page = client.get(reverse("recipe", args=[series.rounds.get(number=2).recipe.identifier]))
    assert f'<a href="{reverse("series", args=[series.identifier])}">Crash counter</a>' in page_text(
        round_page
    )
    client.logout()
    page = page_text(client.get(reverse("series", args=[series.identifier])))

    assert "Trend of Crash counter" in page
    assert "3 rounds. All of them were asked." in page
    assert "Up by 100 points" in page
    assert "% of the devices asked" in page
    assert "more than noise" in page
    assert "No result: nothing ran here while it would have been asked." in page
    assert "version 2.1 released" in page
    assert "Stop the series" not in page


def test_a_trend_of_several_values_counts_those_that_changed(publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher, statistic="histogram", k=2)
    asked(series, [[1, 0, 0]] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [[0, 0, 1]] * 60)
    assert "2 of 3 shares changed by more than noise." in page_text(
        publisher.get(reverse("series", args=[series.identifier]))
    )


def test_more_reports_of_the_same_share_are_no_change(publisher, monkeypatch):
    """The count of devices doubles; every one of them has the event in both rounds."""
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher)
    asked(series, [[1]] * 60)
    now[0] = START + timedelta(days=7)
    asked(series, [[1]] * 120)
    page = page_text(publisher.get(reverse("series", args=[series.identifier])))
    assert "No change beyond noise" in page
    assert " points)." in page


def test_a_series_opens_and_is_shown_in_its_time_zone(publisher, monkeypatch):
    now = [datetime(2026, 3, 25, 8, tzinfo=UTC)]
    time_is(monkeypatch, lambda: now[0])
    recipe = published_recipe(epsilon=8.0, cohort_size=20)
    entered = {"every": "week", "rounds": 3, "time_zone": "Europe/Berlin"}
    publisher.post(reverse("series-new", args=[recipe.identifier]), entered)
    series = Series.objects.get()
    opens = list(series.rounds.order_by("number").values_list("opens_at", flat=True))
    assert opens == [now[0], datetime(2026, 4, 1, 7, tzinfo=UTC), datetime(2026, 4, 8, 7, tzinfo=UTC)]
    rounds_advance()
    address = reverse("series", args=[series.identifier])
    page = page_text(publisher.get(address))
    assert "25 Mar 2026, 09:00 Europe/Berlin" in page
    assert "1 Apr 2026, 09:00 Europe/Berlin</time>." in page
    file = publisher.get(reverse("api-series", args=[series.identifier])).json()
    assert (file["file"]["time_zone"], file["rounds"][1]["opens_at"]) == (
        "Europe/Berlin",
        "2026-04-01T07:00:00Z",
    )


@pytest.mark.parametrize(
    ("entered", "error"),
    [
        ({"every": "week", "rounds": 3, "time_zone": "Berlin"}, "Must be a name of the IANA database"),
        ({"every": "day", "rounds": 3}, "Must be at least 4 days (345,600 s)"),
        ({"every": "week", "rounds": 0}, "at least 1"),
        ({"every": "week", "rounds": 401}, "at most 400"),
        ({"every": "week", "rounds": "x"}, "Enter a number"),
        ({"every": "year", "rounds": 3}, "Select a valid choice"),
        ({}, "This field is required"),
    ],
)
def test_what_no_series_can_be_is_refused_at_its_field_and_kept(publisher, entered, error):
    recipe = published_recipe()
    answer = publisher.post(reverse("series-new", args=[recipe.identifier]), entered)
    assert answer.status_code == 422
    assert error in page_text(answer)
    assert not Series.objects.exists()


def test_only_analysts_repeat_stop_and_mark(client, publisher):
    series = repeated(publisher)
    recipe = series.rounds.model.objects.first()
    client.logout()
    for name in ("series-stop", "series-mark"):
        assert client.post(reverse(name, args=[series.identifier])).status_code == 302
    assert series.rounds.filter(state="planned").count() == 3
    assert recipe is not None


def test_an_analyst_marks_and_stops_from_the_page(publisher):
    series = repeated(publisher)
    refused = publisher.post(reverse("series-mark", args=[series.identifier]), {"note": "x" * 121})
    assert refused.status_code == 422
    assert "must be one line of 1 to 120 characters" in page_text(refused)
    publisher.post(reverse("series-mark", args=[series.identifier]), {"note": "version 3"})
    publisher.post(reverse("series-stop", args=[series.identifier]))
    page = page_text(publisher.get(reverse("series", args=[series.identifier])))
    assert "version 3" in page
    assert "the series was stopped" in page
    again = publisher.post(reverse("series-stop", args=[series.identifier]), follow=True)
    assert "Nothing was changed" in page_text(again)


def test_the_page_says_why_a_round_that_is_due_is_not_published(publisher):
    series = repeated(publisher)
    series.rounds.filter(number=1).update(failures=3, problem="the helper is silent", retry_at=START)
    page = page_text(publisher.get(reverse("series", args=[series.identifier])))
    assert "Round 1 is due and could not be published: the helper is silent. 3 attempts failed" in page


def test_intervals_of_a_trend_hold_together_and_of_one_result_stay_its_own(client, publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher)
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
    page = page_text(client.get(reverse("series", args=[series.identifier])))
    assert "95% intervals, of all rounds together" in page


def test_all_series_are_listed_and_none_says_how_to_begin(client, publisher):
    assert "No series yet." in page_text(client.get(reverse("series-list")))
    series = repeated(publisher)
    assert reverse("series", args=[series.identifier]) in client.get(reverse("series-list")).content.decode()


def test_book_and_log_call_a_series_by_its_name(publisher):
    series = repeated(publisher, population="everyone", segments=["2.0", "2.1"])
    series_mark(series=series, at=START, note="version 2.1 released", actor=None)
    link = f'<a href="{reverse("series", args=[series.identifier])}">{series.name}</a>'
    book = page_text(publisher.get(reverse("population", args=["everyone"])))
    assert f"Reserved for {link}" in book
    assert f"series {series.identifier} round 3" in book
    assert "2 times randomized response with devices (n) = 20" in book
    assert f"The series “{link}” was marked." in page_text(publisher.get(reverse("public-log")))


def test_programs_read_the_same_trend(client, publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher)
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


def test_a_trend_follows_one_segment_and_says_where_it_is_hidden(client, publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher, segments=["2.0", "2.1"])
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
    assert '<a href="?segment=2.1">2.1</a>' in old
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


def test_several_numbers_of_a_round_are_drawn_as_lines_by_round(client, publisher, monkeypatch):
    now = [START]
    time_is(monkeypatch, lambda: now[0])
    series = repeated(publisher, statistic="histogram", k=5, steps=5)
    for week in (0, 1):
        now[0] = START + timedelta(days=7 * week)
        counts = [count for count in (1, 2, 3, 4, 5) for _ in range(20 + week)]
        asked(series, [[int(count == place) for place in range(6)] for count in counts])
    chart = trend_chart(series, trend(series, series.rounds.all()), [])
    (panel,) = chart.panels
    assert [line.x for line in panel.series] == [[1.0, 2.0]] * 5
    assert "Those of 6 that are furthest from zero" in chart.description
    page = page_text(client.get(reverse("series", args=[series.identifier])))
    assert "those of the chart hold together" not in page
