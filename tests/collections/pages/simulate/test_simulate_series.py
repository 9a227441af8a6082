"""The pages on which a whole series is simulated: from its review to its trend."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from pages.simulate.series_form import SHARE
from panprivacy.recipe.draft import RecipeDraft
from recipes.models import Recipe
from recipes.planner.guarantees import NotComputedError
from results.changes import change_between
from series.models import Series
from simulations.models import SeriesSimulation, Simulation
from simulations.series_simulations import MOST_ROUNDS
from simulations.tasks import advance_simulated_series
from storage.answers.questions import State
from tests.collections.simulations.conftest import _address  # noqa: F401  # for every test
from tests.collections.simulations.scene import Site, released, run
from tests.factories import draft_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db

ROUNDS = {"every": "week", "time_zone": "UTC", "rounds": "2"}
FORM = {"rounds": "2", "devices": "80", "shares": "10", "rises": "2.1", "points": "80"}
HTMX = {"HX-Request": "true", "HX-Target": "series-simulation"}


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(analyst())
    return client


def draft(**changes: Any) -> Recipe:
    return draft_recipe(**{"segments": ["2.0", "2.1"], "epsilon": 8.0, **changes})


def form_of(client: Client, recipe: Recipe) -> str:
    """The address to which the review leads."""
    review = reverse("draft-series", args=[recipe.pk])
    assert "Simulate it" in page_text(client.get(review, {"preview": 1, **ROUNDS}))
    address: str = client.post(review, {**ROUNDS, "action": "simulate"})["Location"]
    assert parse_qs(urlsplit(address).query) == {name: [value] for name, value in ROUNDS.items()}
    return address


def started(client: Client, **changes: str) -> SeriesSimulation:
    answer = client.post(form_of(client, draft()), FORM | changes)
    assert answer.status_code == 302, page_text(answer)
    simulation = SeriesSimulation.objects.get()
    assert answer["Location"] == reverse("series", args=[simulation.series.identifier])
    return simulation


def test_one_click_on_the_form_starts_what_it_suggests(client: Client) -> None:
    address = form_of(client, draft())
    page = client.get(address)
    assert "It takes about" in page_text(page)
    assert "(if something goes up)" in page_text(page)
    shown = page.context["form"]
    given = {name: shown[name].value() for name in shown.fields if shown[name].value() not in (None, "")}
    assert client.post(address, given).status_code == 302
    simulation = SeriesSimulation.objects.get()
    assert simulation.workload == {
        "devices": 2200,
        "shares": [0.05],
        "rises": {"segment": "2.1", "points": 5.0},
    }
    assert simulation.series.private


def test_series_page_shows_progress_then_what_moved(client: Client) -> None:
    simulation = started(client)
    address = reverse("series", args=[simulation.series.identifier])
    page = client.get(address)
    assert "0 of 2 rounds are done" in page_text(page)
    assert "every 2s" in page.content.decode()
    part = client.get(address, {"shown": "0"}, headers=HTMX)
    assert "HX-Refresh" not in part
    assert "<h1>" not in part.content.decode()
    for number in (1, 2):
        released(run(Simulation.objects.all()[0], Site()))
        advance_simulated_series()
        assert client.get(address, {"shown": str(number - 1)}, headers=HTMX)["HX-Refresh"] == "true"
    text = page_text(client.get(address))
    assert "2.1</bdi> is up by" in text
    assert "Private" in text
    assert "every 2s" not in client.get(address).content.decode()
    home, listed = client.get("/"), page_text(client.get(reverse("series-list")))
    assert [card.recipe.round.number for card in home.context["cards"]] == [2], "one card for the series"
    assert not home.context["news"].results, "a private simulation is no news"
    assert "simulated <time" in listed
    assert "published" not in listed
    assert "No result yet" not in listed


def test_answer_leads_back_to_the_review_while_the_draft_is_one(client: Client) -> None:
    simulation = started(client)
    recipe = Recipe.objects.get(status=Recipe.Status.DRAFT)
    address = reverse("series", args=[simulation.series.identifier])
    page = client.get(address)
    assert "Simulate again with" in page_text(page)
    review, again = page.context["review"], page.context["again"]
    assert review in page.content.decode().replace("&amp;", "&")
    assert "Publish for good" in page_text(client.get(review))
    assert client.get(again).context["form"].initial["rounds"] == 2
    assert review not in Client().get(address).content.decode()
    recipe.delete()
    assert "Back to the review" not in page_text(client.get(address))


def test_cancel_and_delete_are_for_their_owner(client: Client) -> None:
    series = started(client).series.identifier
    cancel, delete = (reverse(f"series-simulation-{name}", args=[series]) for name in ("cancel", "delete"))
    other = Client()
    other.force_login(account("otto", "Analysts"))
    assert cancel in client.get(reverse("series", args=[series])).content.decode()
    assert "Cancelled" in page_text(client.post(cancel, follow=True))
    assert other.post(delete).status_code == 403
    assert delete not in other.get(reverse("series", args=[series])).content.decode()
    assert "Deleted" in page_text(client.post(delete, follow=True))
    assert not Series.objects.exists()
    assert client.post(delete).status_code == 404


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shares": "5 5 5"}, "one number or one for each segment"),
        ({"shares": "x"}, "numbers such as 5"),
        ({"shares": "120"}, "from 0 to 100"),
        ({"points": "95"}, "to 90"),
        ({"points": ""}, "let nothing go up"),
        ({"rounds": "21"}, "from 2 to 20"),
        ({"rises": "3.0"}, "valid choice"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(client: Client, changes: dict[str, str], said: str) -> None:
    answer = client.post(form_of(client, draft()), FORM | changes)
    assert answer.status_code == 422
    assert said in page_text(answer)
    assert not Series.objects.exists()


def test_series_of_values_or_with_bad_rounds_leads_back_to_its_review(client: Client) -> None:
    recipe = draft_recipe(statistic="categories", steps=None, k=3)
    address = reverse("draft-series-simulate", args=[recipe.pk])
    assert "only events" in page_text(client.get(address, ROUNDS, follow=True))
    assert "Rounds" in page_text(client.get(address, ROUNDS | {"rounds": "0"}, follow=True))
    assert client.get(address, ROUNDS | {"rounds": "0"}, headers={"HX-Request": "true"}).status_code == 204


def test_time_follows_rounds_and_devices(client: Client) -> None:
    recipe = draft()
    address = reverse("draft-series-simulate", args=[recipe.pk])
    few = client.get(address, ROUNDS, headers={"HX-Request": "true"}).context["about"]
    many = client.get(address, ROUNDS | {"rounds": "20"}, headers={"HX-Request": "true"}).context["about"]
    assert many > 5 * few


@pytest.mark.parametrize("typed", ["", "abc", "1e9", "-1", "9" * 5000])
def test_devices_that_are_no_number_get_the_time_of_those_suggested(client: Client, typed: str) -> None:
    recipe = draft()
    address = reverse("draft-series-simulate", args=[recipe.pk])
    htmx = {"HX-Request": "true"}
    about = client.get(address, ROUNDS, headers=htmx).context["about"]
    assert client.get(address, ROUNDS | {"devices": typed}, headers=htmx).context["about"] == about
    refused = client.post(form_of(client, recipe), FORM | {"devices": typed})
    assert (refused.status_code, refused.context["about"]) == (422, about)


@pytest.mark.parametrize("of", ["recipe", "series"])
def test_form_waits_for_guarantees_that_are_being_computed(
    client: Client, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    """It sends itself again, until the simulation starts."""
    recipe = draft()
    address = form_of(client, recipe) if of == "series" else reverse("draft-simulate", args=[recipe.pk])
    given = FORM if of == "series" else {"kind": "bernoulli", "devices": "40", "rate": "0.2", "seed": ""}
    module = "simulations.series_simulations" if of == "series" else "simulations.operations"

    def computing(**_: Any) -> None:
        raise NotComputedError(State.COMPUTING)

    with monkeypatch.context() as patched:
        patched.setattr(f"{module}.guarantees_require", computing)
        page = client.post(address, given)
    assert page.status_code == 200
    assert 'hx-trigger="load delay:3s' in page.content.decode()
    assert "try again" not in page_text(page)
    answer = client.post(address, given, headers={"HX-Request": "true"})
    assert answer.status_code == 204
    assert client.get(answer["HX-Redirect"]).status_code == 200


def drawn(statistic: Any, shares: list[float], devices: int, draws: np.random.Generator) -> Any:
    """What a result has of its segments, if these shares of their devices have the event."""
    flipped, each = statistic._response.flip_probability, devices // len(shares)
    ones = [count for share in shares for count in (each - round(share * each), round(share * each))]
    total = [int(draws.binomial(one, 1 - flipped) + draws.binomial(devices - one, flipped)) for one in ones]
    return SimpleNamespace(
        segments=[one.as_dict() for one in statistic.segmentation.estimates(total, devices)]
    )


@pytest.mark.parametrize(
    ("epsilon", "devices", "segments"),
    [(0.7, 20_000, 3), (1.0, 12_000, 2), (1.0, 20_000, 4), (4.0, 12_000, 2)],
)
def test_suggested_rise_shows_in_the_interval_of_the_change(
    client: Client, epsilon: float, devices: int, segments: int
) -> None:
    versions = [f"2.{number}" for number in range(segments)]
    recipe = draft(segments=versions, epsilon=epsilon, cohort_size=1000, population_size=devices)
    form = client.get(form_of(client, recipe)).context["form"]
    assert form.initial["devices"] == devices
    assert form.fields["points"].help_text.startswith("What is suggested shows")
    statistic, draws = RecipeDraft.from_mapping(recipe.draft).calibrated, np.random.default_rng(7)
    before = [SHARE / 100] * segments
    after = [*before[1:], (SHARE + form.initial["points"]) / 100]
    for _ in range(20):
        results: list[Any] = [drawn(statistic, shares, devices, draws) for shares in (before, after)]
        change = change_between(*results, versions[-1], among=MOST_ROUNDS)
        assert change is not None
        assert change.told.more_than_noise == (True,)


def test_rise_that_cannot_show_is_not_said_to(client: Client) -> None:
    versions = ["2.0", "2.1", "2.2"]
    recipe = draft(segments=versions, epsilon=0.3, cohort_size=1000, population_size=10_000)
    page = client.get(form_of(client, recipe))
    assert "more devices or a larger ε" in page_text(page)
    assert "What is suggested shows" not in page_text(page)


def test_home_shows_running_series_once_and_nothing_simulated_as_open(client: Client) -> None:
    simulation = started(client)
    page = page_text(client.get("/"))
    assert "0 of 2 rounds are done" in page
    assert "Open, the next to close" not in page
    assert reverse("series", args=[simulation.series.identifier]) in client.get("/").content.decode()
    assert "rounds are done" not in page_text(Client().get("/"))
