"""Pages and API of the ledger: public to read, administrators' to change, bounded, exact where exported."""

import csv
import io
import json
import math
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Entry
from ledger import selectors
from ledger.budget import Budget, Rule
from ledger.models import Population, Spending
from ledger.operations import population_create
from ledger.selectors import balance_of, population_named
from panprivacy.errors import FieldError
from recipes.models import Recipe
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
    return Spending.objects.create(
        population=population, recipe="f" * 64, event=event, event_if_half_colludes=event, at=timezone.now()
    )


def text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    return page_text(response)


def test_list_shows_everyone_from_the_start_with_nothing_spent(client: Client) -> None:
    page = text(client, "/populations/")
    assert 'href="/populations/everyone/"' in page
    assert "Nothing is spent yet." in page
    assert "New population" not in page
    assert "replacement of one device" in page


def test_list_says_how_many_recipes_like_the_last_are_left(client: Client) -> None:
    budgeted()
    published_recipe(population="clinics", **COHORT)
    more = balance_of(population_named("clinics")).more_like_the_last
    assert more is not None
    assert more > 1
    assert f"About {more} recipes like the last one are left." in text(client, "/populations/")


def test_population_page_without_a_recipe_says_so_and_draws_no_chart(client: Client) -> None:
    page = text(client, "/populations/everyone/")
    assert "The first recipe that names this population begins its ledger." in page
    assert 'class="chart"' not in page


def test_population_page_names_relation_delta_rule_and_collusion(client: Client) -> None:
    budgeted()
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


def test_population_page_is_paged_and_every_line_stands_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.populations.views.LINES", 2)
    recipes = [published_recipe(**COHORT).identifier for _ in range(5)]
    seen: list[Any] = []
    query = ""
    while True:
        response = client.get(f"/populations/everyone/{query}")
        seen += [(line.recipe, line.composed) for line, *_ in response.context["lines"]]
        query = response.context["page"].older
        if not query:
            break
    assert [recipe for recipe, _ in seen] == recipes[::-1]
    composed = [epsilon for _, epsilon in seen]
    assert composed == sorted(composed, reverse=True)
    assert len(set(composed)) == 5


def test_list_is_paged(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.populations.views.POPULATIONS", 2)
    for number in range(4):
        budgeted(name=f"p{number}")
    seen: list[str] = []
    query = ""
    while True:
        response = client.get(f"/populations/{query}")
        seen += [balance.population.name for balance, _ in response.context["balances"]]
        query = response.context["page"].older
        if not query:
            break
    assert seen == ["p3", "p2", "p1", "p0", "everyone"]


@pytest.mark.searches
@pytest.mark.parametrize("path", ["/populations/?before=x", "/populations/everyone/?before=x"])
def test_pages_refuse_a_cursor_that_no_link_has(client: Client, path: str) -> None:
    assert client.get(path).status_code == 400


def test_numbers_that_take_too_long_are_unknown_and_no_error(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "SECONDS", -1.0)
    monkeypatch.setattr(selectors, "PAGE_SECONDS", -1.0)
    budgeted(name="slow")
    published_recipe(population="slow", epsilon=1.2345, cohort_size=777)
    caches["composed"].clear()
    for path in ("/populations/", "/populations/slow/", "/"):
        assert "not computed yet" in text(client, path)
    answer = client.get("/api/v1/populations/slow/").json()
    assert (answer["spent"], answer["left"], answer["spendings"][0]["epsilon_composed"]) == (None, None, None)


def test_exports_say_which_numbers_are_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    published_recipe(**COHORT)
    for seconds, complete in ((600.0, True), (-1.0, False)):
        monkeypatch.setattr(selectors, "SECONDS", seconds)
        document = json.loads(client.get("/populations/everyone/book.json").content)
        assert document["complete"] is complete
        assert (document["spent"] is not None) is complete
        assert [spending["computed"] for spending in document["spendings"]] == [complete]
        (row,) = csv.DictReader(io.StringIO(client.get("/populations/everyone/book.csv").content.decode()))
        assert (row["model"], row["relation"]) == ("aggregator", "replace")
        assert row["computed"] == str(complete).lower()
        assert (row["epsilon_composed"] != "") is complete
        caches["composed"].clear()


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
def test_event_that_this_version_cannot_read_is_shown_as_unknown_everywhere(
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


def test_publishing_under_a_budget_of_which_the_spending_is_unknown_is_refused_and_says_why(
    client: Client,
) -> None:
    client.force_login(analyst())
    foreign_spending(budgeted(), FOREIGN)
    recipe = draft_recipe(population="clinics", **COHORT)
    assert "Nothing can be published:" in text(client, reverse("recipe-draft", args=[recipe.pk]))
    response = client.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    assert response.status_code == 422
    assert "the budget of clinics cannot be checked" in page_text(response)
    assert Recipe.objects.filter(status="published").count() == 0


def test_publishing_without_a_budget_goes_on_where_spending_is_unknown() -> None:
    foreign_spending(population_named("everyone"), FOREIGN)
    assert published_recipe(**COHORT).status == "published"


def test_refusal_of_a_value_that_no_client_sent_is_the_servers_error(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise FieldError("kind", "is stored, and wrong")

    monkeypatch.setattr("ledger.api.balances_of", failing)
    client.raise_request_exception = False
    response = client.get("/api/v1/populations/")
    assert (response.status_code, response["Content-Type"]) == (500, "application/problem+json")
    assert response.json()["type"] == "/problems/internal-error"


def test_exports_hold_the_whole_book_exactly(client: Client) -> None:
    budgeted()
    recipe = published_recipe(population="clinics", **COHORT)
    published_recipe(population="clinics", **COHORT)
    balance = balance_of(population_named("clinics"))
    document = json.loads(client.get("/populations/clinics/book.json").content)
    assert (document["spent"], document["budget"], document["relation"]) == (balance.spent, 2.0, "replace")
    assert document["spendings"][0]["recipe"] == recipe.identifier
    assert document["spendings"][0]["event"] == balance.events[0]
    rows = list(csv.DictReader(io.StringIO(client.get("/populations/clinics/book.csv").content.decode())))
    assert [float(row["epsilon_composed"]) for row in rows] == [
        spending["epsilon_composed"] for spending in document["spendings"]
    ]
    assert float(rows[-1]["epsilon_composed"]) == balance.spent


@pytest.mark.parametrize(
    "path", ["/populations/nowhere/", "/populations/nowhere/book.csv", "/api/v1/populations/nowhere/"]
)
def test_unknown_population_is_not_found(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", [NEW, "/populations/everyone/edit/"])
@pytest.mark.parametrize("make", [analyst, auditor])
def test_only_administrators_may_change_populations(client: Client, path: str, make: Any) -> None:
    assert client.get(path).status_code == 302
    client.force_login(make())
    data = {"name": "mine", "epsilon": "20", "delta": "0.1"}
    for response in (client.get(path), client.post(path, data)):
        assert response.status_code == 403
        assert "Only administrators" in page_text(response)
    assert Entry.objects.filter(action="access_denied").count() == 1
    (everyone,) = Population.objects.all()
    assert everyone.budget is None


def test_administrator_makes_and_changes_a_population(administrator: Client) -> None:
    data = {"name": "clinics", "description": "Terminals", "epsilon": "1.5", "delta": "1e-6"}
    assert administrator.post(NEW, data)["Location"] == "/populations/clinics/"
    assert population_named("clinics").budget == Budget(epsilon=1.5, delta=1e-6)
    changed = administrator.post(
        "/populations/clinics/edit/",
        {"description": "", "epsilon": "", "delta": "", "no_budget": "on"},
        follow=True,
    )
    assert "Saved." in page_text(changed)
    assert population_named("clinics").budget is None
    entries = Entry.objects.filter(subject="population clinics").order_by("index")
    assert {entry.actor for entry in entries} == {"ada"}
    # The budget is public, the description is not.
    assert [entry.action for entry in entries].count("budget_set") == 2


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


def test_budget_below_what_is_spent_is_saved_and_said(administrator: Client) -> None:
    published_recipe(**COHORT)
    data = {"description": "", "epsilon": "0.000001", "delta": "0.000001"}
    page = page_text(administrator.post("/populations/everyone/edit/", data, follow=True))
    assert "More is spent than this budget: nothing more can be published" in page


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Clinics"}, "name"),
        ({"name": "everyone"}, "name"),
        ({"name": "new"}, "name"),
        ({"epsilon": "21"}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"delta": ""}, "delta"),
        ({"epsilon": ""}, "epsilon"),
        ({"delta": "0.5"}, "delta"),
        ({"description": "x" * 501}, "description"),
        ({"description": "a\nb"}, "description"),
    ],
)
def test_form_with_an_impossible_value_names_its_field(
    administrator: Client, changes: dict[str, str], field: str
) -> None:
    data = {"name": "clinics", "description": "", "epsilon": "1", "delta": "1e-6", **changes}
    response = administrator.post(NEW, data)
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert Population.objects.count() == 1


def test_overview_shows_the_budgets_of_populations_that_have_one_or_spent(client: Client) -> None:
    assert "is spent" not in text(client, "/")
    budgeted()
    assert "of 2 is spent, 2.00 is left" in text(client, "/")


def test_review_says_what_publishing_would_do_to_the_budget(client: Client) -> None:
    client.force_login(analyst())
    budgeted(0.5)  # not much less: what would fit is searched for outwards
    fitting, exceeding = draft_recipe(**COHORT), draft_recipe(population="clinics", **COHORT)
    page = text(client, reverse("recipe-draft", args=[fitting.pk]))
    assert "This recipe would take" in page
    assert "No budget is set" in page
    page = text(client, reverse("recipe-draft", args=[exceeding.pk]))
    assert "It does not fit the budget:" in page
    response = client.post(reverse("recipe-publish", args=[exceeding.pk]), {"reviewed": exceeding.draft_hash})
    assert response.status_code == 422
    assert "the budget of clinics would be exceeded" in page_text(response)
    assert Recipe.objects.filter(status="published").count() == 0


def test_recipe_page_names_its_population(client: Client) -> None:
    recipe = published_recipe()
    page = text(client, reverse("recipe", args=[recipe.identifier]))
    assert '<a href="/populations/everyone/">everyone</a>' in page


def test_api_lists_populations_with_what_is_spent_and_left(client: Client) -> None:
    budgeted()
    published_recipe(population="clinics", **COHORT)
    clinics, everyone = client.get("/api/v1/populations/").json()["results"]
    assert (clinics["name"], everyone["name"]) == ("clinics", "everyone")
    assert clinics["left"] == 2.0 - clinics["spent"]
    assert (everyone["budget"], everyone["spent"], everyone["left"]) == (None, 0.0, None)


def test_api_pages_the_book_of_a_population(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.api.PAGE_SIZE", 2)
    recipes = [published_recipe(**COHORT).identifier for _ in range(3)]
    first = client.get("/api/v1/populations/everyone/").json()
    second = client.get(first["next"]).json()
    assert [line["recipe"] for line in first["spendings"] + second["spendings"]] == recipes[::-1]
    assert second["next"] is None
    assert first["spendings"][0]["event"] == balance_of(population_named("everyone")).events[0]


def test_api_answers_a_bad_cursor_with_a_problem_document(client: Client) -> None:
    for path in ("/api/v1/populations/?cursor=x", "/api/v1/populations/everyone/?cursor=-1"):
        response = client.get(path)
        assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
        assert response.json()["field"] == "cursor"


def test_population_pages_say_that_a_budget_is_charged_with_looks_at_streams(client: Client) -> None:
    for address in ("/populations/", "/populations/everyone/"):
        assert "at every announced look that its recipe allows and once in secret" in text(client, address)
