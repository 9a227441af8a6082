"""Pages and API of the ledger: public to read, administrators' to change, bounded, exact where exported."""

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ledger.budget import Budget, Rule
from ledger.models import Population, Spending
from ledger.operations import population_create
from ledger.selectors import balance_of, population_named
from log.audit.models import Entry
from recipes.models import Recipe
from storage import group_commit
from tests.collections.ledger.conftest import _nothing_is_remembered  # noqa: F401  # for every test
from tests.collections.pages.scene import publish
from tests.collections.storage.answers.scene import workers_answer
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst, auditor, finish, open_recipe, open_stream

pytestmark = pytest.mark.django_db

NEW = "/populations/new/"
COHORT = {"cohort_size": 50, "epsilon": 1.0}


def budgeted(epsilon: float = 2.0, name: str = "clinics") -> Population:
    return population_create(
        name=name,
        description="Terminals",
        budget=Budget(epsilon=epsilon, delta=1e-6, rule=Rule.COMPOSED),
        actor=None,
    )


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(account("ada", is_staff=True, is_superuser=True))
    return client


def foreign_spending(population: Population, event: dict[str, Any]) -> Spending:
    """A line of the book as another version may have written it."""
    recipe = f"{population.pk:064x}"
    return Spending.objects.create(
        population=population, recipe=recipe, event=event, event_if_half_colludes=event, at=timezone.now()
    )


def text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    return page_text(response)


def test_list_and_page_show_everyone_from_the_start_with_nothing_spent(client: Client) -> None:
    page = text(client, "/populations/")
    assert 'href="/populations/everyone/"' in page
    assert "Nothing is spent yet." in page
    assert "New population" not in page
    assert "replacement of one device" in page
    assert "at every announced intrusion that its recipe allows and once in secret" in page
    page = text(client, "/populations/everyone/")
    assert "The first recipe that names this population begins its ledger." in page
    assert 'class="chart"' not in page
    assert "is spent" not in text(client, "/")


def test_population_page_names_relation_delta_rule_and_collusion(client: Client) -> None:
    budgeted()
    assert "of 2 is spent, 2.00 is left" in text(client, "/")
    recipe = published_recipe(population="clinics", **COHORT)
    page = text(client, "/populations/clinics/")
    for said in (
        "at δ = 1e-6",
        "replacement of one device",
        "privacy loss distributions",
        "If half of every cohort colludes",
        "Sampling is ignored here",
        f"/recipes/{recipe.identifier}/",
    ):
        assert said in page
    address = reverse("recipe-privacy", args=[recipe.identifier])
    assert '<a href="/populations/clinics/"><bdi>clinics</bdi></a>' in text(client, address)
    more = balance_of(population_named("clinics")).more_like_the_last
    assert more is not None
    assert more > 1
    assert f"About {more} recipes like the last one are left." in text(client, "/populations/")


def test_population_page_draws_the_steps_that_its_table_says(client: Client) -> None:
    budgeted()
    published_recipe(population="clinics", **COHORT)
    finish(open_recipe([1], population="clinics", **COHORT))
    response = client.get("/populations/clinics/")
    steps, budget = json.loads(response.context["chart"].data)["data"]
    composed = [line.composed for line, *_ in response.context["lines"]][::-1]
    one, two, one_again = composed
    assert one == one_again < two
    assert steps["y"] == [*composed, one_again]
    assert steps["line"]["shape"] == "hv"
    assert budget["y"] == [2.0, 2.0]
    assert "Given back, because nothing was released" in page_text(response)


def test_curve_ends_where_spending_becomes_infinite_and_says_so(client: Client) -> None:
    published_recipe(**COHORT)
    # 2δ for a replaced element, which is more than the δ of 10⁻⁶ at which spending is shown.
    unbounded = {"statistic": "pan_histogram", "delta": 1e-6, "universe_size": 50, "table_size": None}
    open_stream(**unbounded)
    open_stream()
    response = client.get("/populations/everyone/")
    drawn = json.loads(response.context["chart"].data)
    steps, leaps = drawn["data"]
    latest, infinite, first = (line.composed for line, *_ in response.context["lines"])
    assert latest == infinite == math.inf
    assert steps["y"] == [first, first, None, None, None, None]
    assert steps["x"][1] == steps["x"][2] == leaps["x"][0] == leaps["x"][1]
    assert leaps["y"] == [first, drawn["layout"]["yaxis"]["range"][1], None]
    assert leaps["name"] == "ε = ∞ from here on"
    assert "ε = ∞" in page_text(response)


def all_pages(client: Client, path: str) -> Iterator[Any]:
    query: str | None = ""
    while query is not None:
        response = client.get(path + query)
        yield response.context
        query = response.context["page"].older or None


def test_pages_have_every_line_and_population_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.populations.views.LINES", 2)
    monkeypatch.setattr("pages.populations.views.POPULATIONS", 2)
    monkeypatch.setattr("ledger.api.PAGE_SIZE", 2)
    recipes = [published_recipe(**COHORT).identifier for _ in range(5)]
    seen = [line for page in all_pages(client, "/populations/everyone/") for line, *_ in page["lines"]]
    assert [line.recipe for line in seen] == recipes[::-1]
    composed = [line.composed for line in seen]
    assert composed == sorted(composed, reverse=True)
    assert len(set(composed)) == 5
    book, address = [], "/api/v1/populations/everyone/"
    while address:
        answer = client.get(address).json()
        book, address = book + answer["spendings"], answer["next"]
    assert [line["recipe"] for line in book] == recipes[::-1]
    assert book[0]["event"] == balance_of(population_named("everyone")).events[0]
    for number in range(4):
        budgeted(name=f"p{number}")
    pages = all_pages(client, "/populations/")
    names = [balance.population.name for page in pages for balance, _ in page["balances"]]
    assert names == ["p3", "p2", "p1", "p0", "everyone"]


def test_numbers_that_take_too_long_are_unknown(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    budgeted(name="slow")
    published_recipe(population="slow", epsilon=1.2345, cohort_size=777)
    workers_answer(monkeypatch)
    for path in ("/populations/", "/populations/slow/", "/"):
        page = text(client, path)
        assert "not computed yet" in page.lower()
        assert "not computed yet of" not in page
        assert "not computed yet is" not in page
    answer = client.get("/api/v1/populations/slow/").json()
    assert (answer["spent"], answer["left"], answer["spendings"][0]["epsilon_composed"]) == (None, None, None)


def test_exports_say_which_numbers_are_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    published_recipe(**COHORT)
    workers_answer(monkeypatch)
    for complete in (False, True):
        monkeypatch.setattr(group_commit, "_serving", not complete)
        document = json.loads(client.get("/populations/everyone/book.json").content)
        assert document["complete"] is complete
        assert (document["spent"] is not None) is complete
        assert [spending["computed"] for spending in document["spendings"]] == [complete]
        (row,) = csv.DictReader(io.StringIO(client.get("/populations/everyone/book.csv").content.decode()))
        assert (row["model"], row["relation"]) == ("aggregator", "replace")
        assert row["computed"] == str(complete).lower()
        assert (row["epsilon_composed"] != "") is complete


FOREIGN = {"kind": "quantum", "n": 7}
"""An event that a later version may write."""


@pytest.mark.parametrize(
    "event",
    [
        FOREIGN,
        {"kind": "randomized_response", "n": 1000, "epsilon0": 1.0, "temperature": 3},
        {"kind": "gaussian", "sigma": 2.0, "sampling_rate": 1.0, "rounds": 1},  # for another relation
    ],
)
def test_event_that_cannot_be_read_is_shown_as_unknown_everywhere(
    client: Client, event: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    population = budgeted()
    foreign_spending(population, event)
    recipe = published_recipe(**COHORT)
    for path in ("/", "/populations/", "/populations/clinics/"):
        assert "unknown (written by another version)" in text(client, path)
        assert "not computed yet" not in text(client, path)
    assert "stored_event_unreadable" in caplog.text
    answer = client.get("/api/v1/populations/clinics/").json()
    assert (answer["spent"], answer["left"], answer["spendings"][0]["epsilon_alone"]) == (None, None, None)
    assert answer["spendings"][0]["event"] == event
    clinics, everyone = client.get("/api/v1/populations/").json()["results"]
    assert clinics["spent"] is None
    assert everyone["spent"] > 0
    assert json.loads(client.get("/populations/clinics/book.json").content)["complete"] is False
    assert client.get(reverse("recipe", args=[recipe.identifier])).status_code == 200


def test_unknown_spending_refuses_publishing_where_there_is_a_budget(client: Client) -> None:
    client.force_login(analyst())
    foreign_spending(population_named("everyone"), FOREIGN)
    assert published_recipe(**COHORT).status == "published"
    foreign_spending(budgeted(), FOREIGN)
    recipe = draft_recipe(population="clinics", **COHORT)
    assert "Nothing can be published:" in text(client, reverse("recipe-draft", args=[recipe.pk]))
    response = publish(client, recipe)
    assert response.status_code == 422
    assert "the budget of clinics cannot be checked" in page_text(response)
    recipe.refresh_from_db()
    assert recipe.status == "draft"


def test_exports_and_api_hold_the_whole_book_exactly(client: Client) -> None:
    budgeted()
    recipe = published_recipe(population="clinics", **COHORT)
    published_recipe(population="clinics", **COHORT)
    balance = balance_of(population_named("clinics"))
    document = json.loads(client.get("/populations/clinics/book.json").content)
    assert (document["spent"], document["budget"], document["relation"]) == (balance.spent, 2.0, "replace")
    assert document["spendings"][0]["recipe"] == recipe.identifier
    assert document["spendings"][0]["event"] == balance.events[0]
    rows = list(csv.DictReader(io.StringIO(client.get("/populations/clinics/book.csv").content.decode())))
    composed = [spending["epsilon_composed"] for spending in document["spendings"]]
    assert [float(row["epsilon_composed"]) for row in rows] == composed
    assert composed[-1] == balance.spent
    clinics, everyone = client.get("/api/v1/populations/").json()["results"]
    assert (clinics["name"], everyone["name"]) == ("clinics", "everyone")
    assert (clinics["spent"], clinics["left"]) == (balance.spent, 2.0 - balance.spent)
    assert (everyone["budget"], everyone["spent"], everyone["left"]) == (None, 0.0, None)


def test_unknown_population_and_cursor_are_refused(client: Client) -> None:
    for path in ("/populations/nowhere/", "/populations/nowhere/book.csv", "/api/v1/populations/nowhere/"):
        assert client.get(path).status_code == 404
    for path in ("/populations/?before=x", "/populations/everyone/?before=x"):
        assert client.get(path).status_code == 400
    for path in ("/api/v1/populations/?cursor=x", "/api/v1/populations/everyone/?cursor=-1"):
        response = client.get(path)
        assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
        assert response.json()["field"] == "cursor"


@pytest.mark.parametrize("make", [analyst, auditor])
def test_only_administrators_may_change_populations(client: Client, make: Any) -> None:
    user, paths = make(), (NEW, "/populations/everyone/edit/")
    assert [client.get(path).status_code for path in paths] == [302, 302]
    client.force_login(user)
    for path in paths:
        data = {"name": "mine", "epsilon": "20", "delta": "0.1"}
        for response in (client.get(path), client.post(path, data)):
            assert response.status_code == 403
            assert "Only administrators" in page_text(response)
    assert Entry.objects.filter(action="access_denied").count() == 2
    (everyone,) = Population.objects.all()
    assert everyone.budget is None


def test_administrator_makes_and_changes_a_population(administrator: Client) -> None:
    data = {"name": "clinics", "description": "Terminals", "epsilon": "1.5", "delta": "1e-6"}
    assert administrator.post(NEW, data)["Location"] == "/populations/clinics/"
    assert population_named("clinics").budget == Budget(epsilon=1.5, delta=1e-6)
    edit, data = "/populations/clinics/edit/", {"description": "", "epsilon": "", "delta": ""}
    changed = administrator.post(edit, {**data, "no_budget": "on"}, follow=True)
    assert "Saved." in page_text(changed)
    assert population_named("clinics").budget is None
    published_recipe(population="clinics", **COHORT)
    page = page_text(administrator.post(edit, {**data, "epsilon": "1e-6", "delta": "1e-6"}, follow=True))
    assert "More is spent than this budget: nothing more can be published" in page
    entries = Entry.objects.filter(subject="population clinics").order_by("index")
    assert {entry.actor for entry in entries} == {"ada"}
    # The budget is public, the description is not.
    assert [entry.action for entry in entries].count("budget_set") == 3


def test_administrator_declares_attributes_and_everybody_reads_them(administrator: Client) -> None:
    path, own = "/populations/everyone/edit/", {"description": "", "no_budget": "on"}
    administrator.post(path, {**own, "attributes": "region: eu, us\n\nos: linux, mac\n"})
    assert population_named("everyone").attributes == {"os": ["linux", "mac"], "region": ["eu", "us"]}
    page = Client().get("/populations/everyone/").content.decode()
    assert "<dt>os</dt><dd>linux, mac</dd>" in page
    assert "<dt>region</dt><dd>eu, us</dd>" in page
    # Saved with another thing changed, they stay as they are.
    form = administrator.get(path).context["form"]
    administrator.post(path, {**own, "attributes": form["attributes"].value()})
    administrator.post(path, own)
    assert Entry.objects.filter(action="attributes_declared").count() == 1
    for lines, said in (
        ("os: linux", "os: must be a list"),
        ("os: mac, linux\nregion: eu, us", "os: must begin with linux, mac"),
        ("os linux", "Write each attribute once"),
        ("os: a, b\nos: c, d", "Write each attribute once"),
    ):
        answer = administrator.post(path, {**own, "attributes": lines})
        assert answer.status_code == 422
        assert said in " ".join(answer.context["form"].errors["attributes"])


def test_form_names_the_impossible_field(administrator: Client) -> None:
    for changes, field in (
        ({"name": "Clinics"}, "name"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"delta": "0.5"}, "delta"),
        ({"description": "x" * 501}, "description"),
        ({"description": "a\nb"}, "description"),
    ):
        data = {"name": "clinics", "description": "", "epsilon": "1", "delta": "1e-6", **changes}
        response = administrator.post(NEW, data)
        assert response.status_code == 422
        assert list(response.context["form"].errors) == [field]
    assert Population.objects.count() == 1


def test_review_says_what_publishing_would_do_to_the_budget(client: Client) -> None:
    client.force_login(analyst())
    budgeted(0.5)  # not much less: what would fit is searched for outwards
    fitting, exceeding = draft_recipe(**COHORT), draft_recipe(population="clinics", **COHORT)
    page = text(client, reverse("recipe-draft", args=[fitting.pk]))
    assert "This recipe would take" in page
    assert "No budget is set" in page
    page = text(client, reverse("recipe-draft", args=[exceeding.pk]))
    assert "It does not fit the budget:" in page
    response = publish(client, exceeding)
    assert response.status_code == 422
    assert "the budget of clinics would be exceeded" in page_text(response)
    assert Recipe.objects.filter(status="published").count() == 0
