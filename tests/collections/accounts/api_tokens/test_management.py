"""The life of a recipe, populations and the log, driven by a program with a token."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.operations import token_create
from ledger.models import Population, Spending
from log.audit.models import Entry
from notifications.operations import MOST_AN_HOUR, webhook_create
from publishing import publication
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.models import Release
from series.models import Series
from series.operations import rounds_advance
from streams.models import AnnouncedIntrusion
from streams.selectors import seen_bytes
from tests.collections.accounts.api_tokens.scene import RECIPE
from tests.factories import published_recipe, published_stream, stream_members
from tests.page_text import page_text
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db

RECIPES = "/api/v1/recipes/"


@pytest.fixture
def api() -> Client:
    return client_of(analyst(), "recipes:write", "log:read")


@pytest.fixture
def administration() -> Client:
    return client_of(account("ada", is_superuser=True), "populations:write")


def client_of(user: User, *scopes: str) -> Client:
    _, text = token_create(user=user, name="test", scopes=scopes, days=1, actor=None)
    return Client(headers={"Authorization": f"Bearer {text}"})


def post(client: Client, path: str, members: Any) -> Any:
    return client.post(path, members, content_type="application/json")


def put(client: Client, path: str, members: Any) -> Any:
    return client.put(path, members, content_type="application/json")


def field_of(answer: Any) -> str | None:
    """The field that a refusal names."""
    assert answer.status_code == 400
    found: str | None = answer.json().get("field")
    return found


def drafted(api: Client, **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = post(api, RECIPES, {**RECIPE, **changes}).json()
    return document


def publish(api: Client, draft: dict[str, Any], **changes: Any) -> Any:
    body = {"reviewed": draft["reviewed"], **changes}
    return post(api, f"{RECIPES}{draft['number']}/publish/", body)


def test_recipe_lives_from_draft_to_withheld_result(api: Client) -> None:
    answer = post(api, RECIPES, RECIPE)
    draft = answer.json()
    assert answer.status_code == 201
    assert answer["Location"] == f"{RECIPES}drafts/{draft['number']}/"
    assert draft["created_by"] == "ana"
    changed = put(api, answer["Location"], {**RECIPE, "name": "Other"}).json()
    assert changed["reviewed"] != draft["reviewed"]
    review = api.get(f"{answer['Location']}review/").json()
    assert review["publishable"]
    assert review["reviewed"] == changed["reviewed"]
    assert review["expected"]["budget"]["population"] == "everyone"
    assert {guarantee["model"] for guarantee in review["expected"]["guarantees"]} >= {"local", "aggregator"}
    published = publish(api, changed).json()
    assert published["document"]["name"] == "Other"
    assert published["status"] == "open"
    recipe = f"{RECIPES}{published['id']}/"
    assert api.get(f"{recipe}result/").json()["type"] == "/problems/no-result-yet"
    assert post(api, f"{recipe}withhold/", {"reason": "too early"}).status_code == 409
    assert [post(api, f"{recipe}close/", {}).json()["status"] for _ in range(2)] == ["closed"] * 2
    given_up = [post(api, f"{recipe}withhold/", {"reason": "helper gone"}) for _ in range(2)]
    assert [answer.status_code for answer in given_up] == [200, 200]
    assert post(api, f"{recipe}withhold/", {"reason": "another"}).status_code == 409
    result = json.loads(b"".join(Client().get(f"{recipe}result/").streaming_content))
    assert (result["outcome"], result["reason"]) == ("withheld", "helper gone")
    entries = Entry.objects.filter(subject=published["id"]).order_by("index")
    prefix = ApiToken.objects.get().prefix
    assert [entry.details["api_token"] for entry in entries] == [prefix] * 3
    assert [(entry.action, entry.actor) for entry in entries] == [
        ("recipe_published", "ana"),
        ("recipe_closed", "ana"),
        ("result_withheld", "ana"),
    ]


def test_series_lives_from_its_file_to_its_end(api: Client) -> None:
    members = {**RECIPE, "every": "week", "rounds": 3}
    answers = [post(api, "/api/v1/series/", members) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    series = answers[0].json()
    assert answers[1].json() == series
    assert (len(series["rounds"]), Spending.objects.count()) == (3, 3)
    address = answers[0]["Location"]
    assert address == f"/api/v1/series/{series['id']}/"
    mark = {"note": "version 2", "at": "2026-03-01T00:00:00Z"}
    marked = [post(api, f"{address}mark/", mark).json()["marks"] for _ in range(2)]
    assert marked == [[{"at": mark["at"], "note": mark["note"]}]] * 2
    rounds_advance()
    first = Client().get(address).json()["rounds"][0]
    assert Client().get(f"{RECIPES}{first['recipe']}/series/").json()["id"] == series["id"]
    stopped = [post(api, f"{address}stop/", {}) for _ in range(2)]
    assert [answer.status_code for answer in stopped] == [200, 200]
    assert [found["state"] for found in stopped[1].json()["rounds"]] == ["published", "skipped", "skipped"]
    prefix = ApiToken.objects.get().prefix
    entries = Entry.objects.filter(subject=f"series {series['id']}").order_by("index")
    assert [(entry.action, entry.details["api_token"]) for entry in entries] == [
        ("series_published", prefix),
        ("series_marked", prefix),
        ("series_stopped", prefix),
    ]


def test_what_no_series_can_be_is_refused_with_its_field(api: Client) -> None:
    address = "/api/v1/series/"
    found = post(api, address, {**RECIPE, "every": "day", "rounds": 2, "steps": 1}).json()["id"]
    for path, members, field in (
        ("", {**RECIPE, "every": "week"}, "rounds"),
        (f"{found}/mark/", {}, "note"),
        (f"{found}/mark/", {"note": "a", "at": "yesterday"}, "at"),
        (f"{found}/stop/", {"why": "x"}, "why"),
    ):
        assert field_of(post(api, f"{address}{path}", members)) == field
    assert Series.objects.count() == 1


def test_publish_that_comes_twice_publishes_and_spends_once(api: Client) -> None:
    draft = drafted(api)
    answers = [publish(api, draft) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len({answer.content for answer in answers}) == 1
    assert Recipe.objects.count() == 1
    assert Spending.objects.count() == 1


def test_two_requests_to_publish_at_once_publish_once(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other request wins between the reading of the draft and its lock."""
    draft = drafted(api)
    prepare = publication._prepare

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(publication, "_prepare", prepare)
        prepared = prepare(*arguments)
        assert publish(api, draft).status_code == 200
        return prepared

    monkeypatch.setattr(publication, "_prepare", overtaken)
    answer = publish(api, draft)
    assert answer.status_code == 200
    assert answer.json()["id"] == Recipe.objects.get().identifier
    assert Spending.objects.count() == 1


def test_publish_of_what_was_not_read_is_refused(api: Client) -> None:
    draft = drafted(api)
    put(api, f"{RECIPES}drafts/{draft['number']}/", {**RECIPE, "epsilon": 7.0})
    assert publish(api, draft).json()["type"] == "/problems/state-conflict"
    assert publish(api, draft, reviewed=None).json()["field"] == "reviewed"
    assert publish(api, draft, colour="red").json()["field"] == "colour"
    assert Recipe.objects.get().status == Recipe.Status.DRAFT


def test_publish_of_a_list_takes_its_items_without_repetition(api: Client) -> None:
    members = stream_members(items="listed", universe_size=3, table_size=3)
    draft = post(api, RECIPES, members).json()
    assert api.get(f"{RECIPES}drafts/{draft['number']}/review/").json()["expected"]["needs_universe"]
    for universe in (None, ["a", "b", "b"], ["a", "b"], "abc", [1, 2, 3]):
        assert publish(api, draft, universe=universe).json()["field"] in {"universe", "items"}
    assert publish(api, draft, universe=["a", "b", "c"]).status_code == 200


def test_draft_is_deleted_but_a_published_one_neither_changed_nor_deleted(api: Client) -> None:
    path = f"{RECIPES}drafts/{drafted(api)['number']}/"
    assert api.delete(path).status_code == 204
    assert api.delete(path).status_code == api.get(path).status_code == 404
    draft = drafted(api)
    path = f"{RECIPES}drafts/{draft['number']}/"
    identifier = publish(api, draft).json()["id"]
    assert api.get(path).json()["id"] == identifier
    assert put(api, path, RECIPE).status_code == 409
    assert api.delete(path).status_code == 409
    assert api.get(f"{RECIPES}drafts/").json()["results"] == []


def test_review_says_which_field_stands_against_publishing(api: Client) -> None:
    # Little less than it takes: what would fit is found among small cohorts, which are composed fast.
    Population.objects.update(epsilon=1.5, delta=1e-6)
    review = post(api, f"{RECIPES}review/", RECIPE).json()
    assert not review["publishable"]
    assert review["expected"]["budget"]["exceeds"]
    refused = publish(api, drafted(api)).json()
    assert refused["field"] == "population"
    over = post(api, f"{RECIPES}review/", {**RECIPE, "closes_at": "2020-01-01T00:00:00Z"}).json()
    assert over["problem"]["field"] == "closes_at"
    assert not over["publishable"]


def test_answers_warn_of_a_cohort_beyond_the_stated_population(api: Client) -> None:
    warning = "Nothing would be released: about 4 devices would report, and the cohort size is 5."
    draft = post(api, RECIPES, {**RECIPE, "population_size": 4}).json()
    address = f"{RECIPES}drafts/{draft['number']}/"
    read, review = api.get(address).json(), api.get(f"{address}review/").json()
    assert draft["warning"] == read["warning"] == review["warning"] == warning
    assert put(api, address, {**RECIPE, "population_size": 5}).json()["warning"] == ""


@pytest.mark.parametrize("path", [RECIPES, f"{RECIPES}review/"])
def test_body_that_is_wrong_is_refused_by_field_and_stores_nothing(api: Client, path: str) -> None:
    for body, field in (
        ({**RECIPE, "epsilon": -1}, "epsilon"),
        ({**RECIPE, "colour": "red"}, "colour"),
        ({**RECIPE, "name": "\ud800"}, "name"),
        ('{"name": "a", "name": "b"}', "name"),
        ("[]", None),
        ("[" * 100_000, None),
    ):
        assert field_of(post(api, path, body)) == field
    assert api.post(path, RECIPE).status_code == 415, "of another type"
    assert not Recipe.objects.exists()


def test_populations_are_made_and_changed(administration: Client) -> None:
    budget = {"epsilon": 2.0, "delta": 1e-5, "rule": "composed"}
    members = {"name": "clinics", "description": "In clinics.", "budget": budget}
    answer = post(administration, "/api/v1/populations/", members)
    assert (answer.status_code, answer.json()["budget"]) == (201, 2.0)
    path = "/api/v1/populations/clinics/"
    changed = put(administration, path, {"description": "", "budget": {"epsilon": 1.0, "delta": 1e-5}})
    assert (changed.json()["budget"], changed.json()["rule"]) == (1.0, "composed")
    assert put(administration, path, {"description": "", "budget": None}).json()["budget"] is None
    entries = Entry.objects.filter(subject="population clinics").exclude(actor="ada")
    assert not entries.exists()


def test_attributes_are_declared_for_everybody_and_keep_their_places(administration: Client) -> None:
    members = {"description": "", "budget": None}
    systems = {"os": ["linux", "other"]}
    path = "/api/v1/populations/everyone/"
    assert put(administration, path, {**members, "attributes": systems}).json()["attributes"] == systems
    longer = {"os": ["linux", "other", "mac"], "region": ["eu", "us"]}
    assert put(administration, path, {**members, "attributes": longer}).status_code == 200
    refused = {
        "attributes.os": [{"os": ["other", "linux", "mac"]}, {"os": ["linux"]}, {"region": ["eu", "us"]}],
        "attributes": [[], {"OS": ["a", "b"]}],
    }
    for field, given in refused.items():
        for attributes in given:
            answer = put(administration, path, {**members, "attributes": attributes})
            assert field_of(answer) == field
    # Left out, they stay; a declaration that changes nothing is not entered.
    assert put(administration, path, members).json()["attributes"] == longer
    assert put(administration, path, {**members, "attributes": longer}).status_code == 200
    entries = Entry.objects.filter(action="attributes_declared").order_by("index")
    assert [entry.details["attributes"] for entry in entries] == [systems, longer]
    page = page_text(Client().get("/log/?action=attributes_declared"))
    assert "os: linux, other, mac; region: eu, us" in page


def test_population_that_is_wrong_is_refused_by_field(administration: Client) -> None:
    """Which names and budgets are possible: tests/collections/ledger/test_budget.py."""
    kept = {"description": "", "budget": None}
    for change, field in (
        ({"name": None}, "name"),
        ({"description": "a\nb"}, "description"),
        ({"budget": {"epsilon": 1.0}}, "delta"),
        ({"budget": {"epsilon": "1", "delta": 1e-6}}, "epsilon"),
        ({"budget": {"epsilon": 1, "delta": 1e-6, "rule": ["filter"]}}, "rule"),
        ({"budget": {"epsilon": 1, "delta": 1e-6, "colour": 1}}, "colour"),
        ({"budget": 4}, "budget"),
    ):
        members = {"name": "clinics", **kept, **change}
        assert field_of(post(administration, "/api/v1/populations/", members)) == field
    assert Population.objects.count() == 1
    for left_out in kept:
        changed = {name: value for name, value in kept.items() if name != left_out}
        assert field_of(put(administration, "/api/v1/populations/everyone/", changed)) == left_out


def test_log_is_read_by_page_and_filter(api: Client) -> None:
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    page = api.get("/api/v1/log/", {"q": recipe.identifier}).json()
    assert [entry["action"] for entry in page["results"]] == ["recipe_closed", "recipe_published"]
    assert api.get("/api/v1/log/", {"action": "recipe_closed"}).json()["results"] == page["results"][:1]
    assert api.get("/api/v1/log/", {"cursor": "x"}).json()["field"] == "cursor"
    assert set(page["results"][0]) >= {"salt", "entry_hash"}


def test_withhold_needs_a_reason(api: Client) -> None:
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    for body in ({}, {"reason": " "}, {"reason": "x" * 201}, {"reason": 1}, {"reason": "a\x00"}):
        assert post(api, f"{RECIPES}{recipe.identifier}/withhold/", body).json()["field"] == "reason"
    assert not Release.objects.exists()


def test_entry_of_a_session_after_a_token_names_no_token(api: Client, client: Client) -> None:
    """Threads serve one request after the other."""
    drafted(api)
    client.force_login(User.objects.get(username="ana"))
    client.post(reverse("recipe-draft-delete", args=[Recipe.objects.get().pk]))
    saved, deleted = Entry.objects.filter(action__startswith="draft_").order_by("index")
    assert saved.details["api_token"] == ApiToken.objects.get().prefix
    assert "api_token" not in deleted.details


def test_another_analyst_approves_of_a_series_before_its_publishing(api: Client) -> None:
    Population.objects.update(four_eyes=True)
    members = {**RECIPE, "every": "week", "rounds": 2}
    assert post(api, "/api/v1/series/", members).status_code == 409
    asked = post(api, "/api/v1/series/ask-approval/", members).json()
    other = client_of(account("otto", "Analysts"), "recipes:approve")
    (listed,) = other.get("/api/v1/approvals/?state=asked").json()["results"]
    assert listed == asked
    assert (listed["draft"], listed["asked_by"], listed["document"]["every"]) == (None, "ana", "week")
    address = f"/api/v1/approvals/{asked['number']}/"
    decision = {"reviewed": asked["reviewed"]}
    own = client_of(User.objects.get(username="ana"), "recipes:approve")
    assert post(own, f"{address}approve/", decision).status_code == 409
    assert post(other, f"{address}approve/", {"reviewed": "0" * 64}).status_code == 409
    assert post(other, f"{address}decline/", decision).json()["field"] == "note"
    approved = [post(other, f"{address}approve/", decision).json()["state"] for _ in range(2)]
    assert approved == ["approved"] * 2
    assert post(api, "/api/v1/series/", members).status_code == 201
    assert other.get(address).json()["state"] == "used"
    assert other.get("/api/v1/approvals/?state=void").json()["field"] == "state"


def test_an_intrusion_that_is_announced_twice_is_one(administration: Client) -> None:
    recipe = published_stream(announced_intrusions=2)
    client = client_of(User.objects.get(username="ada"), "intrusions:announce")
    address = f"{RECIPES}{recipe.identifier}/intrusions/"
    members = {"number": 1, "reason": "court order 4711"}
    answers = [post(client, address, members) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert "the next one has the number 2" in answers[1].json()["detail"]
    seen = client.get(f"{address}1/state/")
    assert seen.content == seen_bytes(AnnouncedIntrusion.objects.get())
    assert client.get(f"{address}2/state/").status_code == 404
    assert post(client, address, {"number": True, "reason": "x"}).json()["field"] == "number"
    assert post(client, address, {"number": 2, "reason": " "}).json()["field"] == "reason"
    assert [each["number"] for each in client.get(address).json()["results"]] == [1]
    entry = Entry.objects.get(action="intrusion_announced")
    assert (entry.actor, entry.details["reason"]) == ("ada", "court order 4711")
    assert post(client, f"{RECIPES}{published_recipe().identifier}/intrusions/", members).status_code == 404


def test_accounts_are_made_grouped_and_switched_off_but_no_administrator(administration: Client) -> None:
    ada = User.objects.get(username="ada")
    client = client_of(ada, "accounts:write")
    new = {"username": "nova", "password": "correct horse battery", "groups": ["Analysts"]}
    answer = post(client, "/api/v1/accounts/", new)
    assert (answer.status_code, answer["Location"]) == (201, "/api/v1/accounts/nova/")
    assert User.objects.get(username="nova").check_password(str(new["password"]))
    token = client_of(User.objects.get(username="nova"), "recipes:read")
    assert token.get(f"{RECIPES}drafts/").status_code == 200
    for changes, field in (
        ({}, "username"),
        ({"username": "a b"}, "username"),
        ({"username": "nils", "password": "12345"}, "password"),
        ({"username": "nils", "groups": ["Kings"]}, "groups"),
        ({"username": "nils", "groups": "Analysts"}, "groups"),
    ):
        refused = post(client, "/api/v1/accounts/", {**new, **changes})
        assert field_of(refused) == field
    off = {"active": False, "groups": []}
    assert put(client, answer["Location"], off).json()["groups"] == []
    assert token.get(f"{RECIPES}drafts/").status_code == 401
    assert put(client, answer["Location"], {"active": "no", "groups": []}).json()["field"] == "active"
    assert put(client, "/api/v1/accounts/ada/", off).status_code == 409
    assert [each["username"] for each in client.get("/api/v1/accounts/").json()["results"]] == ["nova", "ada"]
    told = Entry.objects.filter(subject="nova", action__in=("account_changed", "permission_changed"))
    assert {(entry.actor, entry.details["change"]) for entry in told} == {
        ("ada", "created"),
        ("ada", "joined"),
        ("ada", "flags"),
        ("ada", "left"),
    }


def test_of_two_accounts_of_one_name_that_are_made_at_once_one_is_refused(
    administration: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one was not there yet when this one looked."""
    monkeypatch.setattr(User, "validate_unique", lambda *_: None)
    client = client_of(User.objects.get(username="ada"), "accounts:write")
    new = {"username": "ada", "password": "correct horse battery", "groups": []}
    refused = post(client, "/api/v1/accounts/", new)
    assert field_of(refused) == "username"
    assert User.objects.filter(username="ada").count() == 1


def test_mail_is_subscribed_and_ended_and_webhooks_are_not_among_it(settings: Any) -> None:
    settings.SITE_URL, settings.EMAIL_FROM = "http://localhost", "site@example.org"
    user = account("mia")
    client = client_of(user, "mail:write")
    hook, _ = webhook_create(user=user, url="https://receiver.example/", events=["result.released"])
    members = {"address": "mia@example.org", "events": ["result.released"]}
    answer = post(client, "/api/v1/mail-subscriptions/", members)
    assert answer.status_code == 201
    assert answer.json()["confirmed_at"] is None
    (row,) = client.get("/api/v1/mail-subscriptions/").json()["results"]
    assert row == client.get(answer["Location"]).json() == answer.json()
    assert client.get(f"/api/v1/mail-subscriptions/{hook.identifier}/").status_code == 404
    refused = post(client, "/api/v1/mail-subscriptions/", {**members, "address": "mia"})
    assert field_of(refused) == "address"
    assert client.delete(answer["Location"]).status_code == 204
    assert client.get("/api/v1/mail-subscriptions/").json()["results"] == []


def test_new_secrets_are_bounded_and_a_rate_answers_429(settings: Any) -> None:
    settings.SITE_URL = "http://localhost"
    user = account("mia")
    client = client_of(user, "webhooks:write")
    hooks = [
        webhook_create(user=user, url="https://receiver.example/", events=["result.released"])[0]
        for _ in range(2)
    ]
    addresses = [f"/api/v1/webhooks/{hook.identifier}/rotate/" for hook in hooks]
    answers = [post(client, addresses[number % 2], {}) for number in range(MOST_AN_HOUR + 1)]
    assert [answer.status_code for answer in answers] == [200] * MOST_AN_HOUR + [429]
    assert answers[-1].json()["type"] == "/problems/too-often"
    assert Entry.objects.filter(action="webhook_secret_rotated").count() == MOST_AN_HOUR
