"""Four eyes: what was approved is published once, as it was, and never by one person alone."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from ledger.models import Population
from ledger.operations import population_change
from log.audit.models import Entry
from log.audit.selectors import entries_of_recipe
from panprivacy.formats.errors import FieldError
from publishing.approvals import approval_decide, approvals_waiting, draft_approval_ask
from publishing.publication import recipe_publish, recipe_publish_file
from recipes.errors import ApprovalNeededError, RecipeStateError
from recipes.models import APPROVAL_VALID, Approval, Recipe
from recipes.operations import recipe_draft_save
from series.operations import rounds_advance, series_approval_ask, series_publish
from tests.clock import time_is
from tests.factories import recipe_members, stream_members
from tests.scenes import account

pytestmark = pytest.mark.django_db

NEEDED = "needs the approval of another analyst"


@pytest.fixture(autouse=True)
def _site(settings):
    settings.FOUR_EYES = True


@pytest.fixture
def author() -> User:
    return account("ana", "Analysts")


@pytest.fixture
def other() -> User:
    return account("otto", "Analysts")


@pytest.fixture
def draft(author) -> Recipe:
    return recipe_draft_save(members=recipe_members(), actor=author)


def asked(draft: Recipe, by: User) -> Approval:
    return draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=by)


def decided(approval: Approval, by: User, *, approve: bool = True, note: str = "") -> Approval:
    return approval_decide(approval=approval, reviewed=approval.content, approve=approve, actor=by, note=note)


def publish(draft: Recipe, by: User | None) -> Recipe:
    return recipe_publish(recipe=Recipe.objects.get(pk=draft.pk), actor=by, reviewed=draft.draft_hash)


def test_only_the_internal_log_names_the_approver(draft, author, other):
    with pytest.raises(ApprovalNeededError, match=NEEDED):
        publish(draft, author)
    approval = asked(draft, author)
    assert asked(draft, author) == approval
    assert list(approvals_waiting(other)) == [approval]
    assert list(approvals_waiting(author)) == []
    with pytest.raises(ApprovalNeededError, match=NEEDED):
        publish(draft, author)
    decided(approval, other)
    published = publish(draft, author)
    assert published.status == Recipe.Status.PUBLISHED
    (public,) = entries_of_recipe(str(published.identifier))
    assert public.details["approved_by"] == "another account"
    told = Entry.objects.filter(subject=f"draft {draft.pk}").order_by("index")
    assert [(one.action, one.actor) for one in told] == [
        ("draft_saved", "ana"),
        ("approval_asked", "ana"),
        ("approved", "otto"),
    ]
    assert Approval.objects.get().state == Approval.State.USED


@pytest.mark.parametrize("who", ["author", "asker", "editor"])
def test_no_account_approves_what_it_wrote_or_asked_for(draft, author, other, who):
    third = account("thea", "Analysts")
    if who == "editor":
        recipe_draft_save(members=recipe_members(name="Other"), actor=other, recipe=draft)
        draft.refresh_from_db()
    approval = asked(draft, third if who == "editor" else other)
    with pytest.raises(RecipeStateError, match="another analyst must decide"):
        decided(approval, author if who == "author" else other)
    assert Approval.objects.get().state == Approval.State.ASKED
    with pytest.raises(ApprovalNeededError):
        publish(draft, author)


def test_an_edit_voids_the_approval_also_where_it_is_taken_back(draft, author, other):
    decided(asked(draft, author), other)
    before = draft.draft_hash
    recipe_draft_save(members=recipe_members(epsilon=4.0), actor=author, recipe=draft)
    recipe_draft_save(members=recipe_members(), actor=author, recipe=draft)
    draft.refresh_from_db()
    assert draft.draft_hash == before
    with pytest.raises(ApprovalNeededError):
        publish(draft, author)


def test_what_is_approved_is_what_was_shown(draft, author, other):
    approval = asked(draft, author)
    recipe_draft_save(members=recipe_members(epsilon=4.0), actor=author, recipe=draft)
    with pytest.raises(RecipeStateError):
        decided(approval, other)
    with pytest.raises(RecipeStateError, match="read it once more"):
        draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=author)
    draft.refresh_from_db()
    now = asked(draft, author)
    with pytest.raises(RecipeStateError, match="read it once more"):
        approval_decide(approval=now, reviewed=approval.content, approve=True, actor=other)


def test_an_approval_ends_after_its_time_and_can_be_asked_for_again(draft, author, other, monkeypatch):
    start = datetime(2026, 3, 1, tzinfo=UTC)
    now = [start]
    time_is(monkeypatch, lambda: now[0])
    decided(asked(draft, author), other)
    now[0] = start + APPROVAL_VALID
    with pytest.raises(ApprovalNeededError):
        publish(draft, author)
    decided(asked(draft, author), other)
    assert publish(draft, author).status == Recipe.Status.PUBLISHED


def switch_off(other: User) -> None:
    User.objects.filter(pk=other.pk).update(is_active=False)


def leave(other: User) -> None:
    other.groups.remove(Group.objects.get(name="Analysts"))


@pytest.mark.parametrize("ends", [switch_off, leave])
def test_account_that_may_not_publish_has_approved_nothing(
    draft, author, other, ends: Callable[[User], None]
):
    approval = asked(draft, author)
    third = account("thea", "Analysts")
    decided(approval, other)
    ends(other)
    with pytest.raises(ApprovalNeededError, match="may not publish"):
        publish(draft, author)
    ends(third)
    with pytest.raises(RecipeStateError, match="may not publish"):
        decided(approval, third, approve=False, note="too late")


def test_a_note_is_needed_to_decline_and_an_approval_can_be_taken_back(draft, author, other):
    approval = asked(draft, author)
    with pytest.raises(FieldError, match="must say why"):
        decided(approval, other, approve=False, note=" ")
    with pytest.raises(FieldError, match="one line"):
        decided(approval, other, note="two\nlines")
    assert decided(decided(approval, other), other) == approval
    decided(approval, other, approve=False, note="the cohort is too small")
    with pytest.raises(ApprovalNeededError):
        publish(draft, author)
    with pytest.raises(RecipeStateError, match="no approval is pending"):
        decided(approval, account("thea", "Analysts"))
    assert decided(asked(draft, author), other).state == Approval.State.APPROVED


def test_operators_and_simulations_need_no_approval(draft, author, capsys):
    recipe_publish_file(members=recipe_members(), actor=author, simulation=True)
    with pytest.raises(ApprovalNeededError):
        recipe_publish_file(members=recipe_members(), actor=author)
    call_command("recipe", "publish", str(draft.pk))
    assert "without the approval of another analyst" in capsys.readouterr().err
    by_operator = Entry.objects.get(action="recipe_published", details__simulation=False)
    assert by_operator.details["approved_by"] == "operator"


def test_a_population_can_ask_for_four_eyes_where_the_site_does_not(draft, author, other, settings):
    settings.FOUR_EYES = False
    with pytest.raises(RecipeStateError, match="needs no approval"):
        asked(draft, author)
    everyone = Population.objects.get(name="everyone")
    population_change(population=everyone, description="", budget=everyone.budget, four_eyes=True, actor=None)
    assert Entry.objects.latest("index").details["four_eyes"] == [False, True]
    with pytest.raises(ApprovalNeededError):
        publish(draft, author)
    population_change(population=everyone, description="", budget=everyone.budget, actor=None)
    decided(asked(draft, author), other)
    assert publish(draft, author).status == Recipe.Status.PUBLISHED


def test_a_series_is_approved_once_for_all_its_rounds_and_published_once(author, other, monkeypatch):
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    time_is(monkeypatch, lambda: now[0])
    members = recipe_members() | {"every": "week", "rounds": 2}
    with pytest.raises(ApprovalNeededError):
        series_publish(members=members, actor=author)
    approval = series_approval_ask(members=members, actor=author)
    with pytest.raises(RecipeStateError, match="another analyst must decide"):
        decided(approval, author)
    decided(approval, other)
    for others in (members | {"rounds": 3}, members | {"epsilon": 4.0}):
        with pytest.raises(ApprovalNeededError):
            series_publish(members=others, actor=author)
    series = series_publish(members=members, actor=author)
    assert series_publish(members=members, actor=author) == series
    for _ in range(2):
        rounds_advance()
        now[0] += timedelta(days=7)
    assert [one.state for one in series.rounds.all()] == ["published", "published"]
    assert Entry.objects.get(action="series_published").details["approved_by"] == "another account"
    with pytest.raises(ApprovalNeededError):
        series_publish(members=members, actor=author)


def test_approval_covers_one_list_of_items_and_no_other(author: User, other: User) -> None:
    members = stream_members(items="listed", universe_size=2, table_size=2)
    draft = recipe_draft_save(members=members, actor=author)
    approved = {"reviewed": draft.draft_hash, "actor": other, "approve": True}

    def publish(universe: list[str]) -> Recipe:
        return recipe_publish(recipe=draft, reviewed=draft.draft_hash, actor=author, universe=universe)

    first = draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=author)
    approval_decide(approval=first, **approved)
    with pytest.raises(ApprovalNeededError, match="not this list of items"):
        publish(["a", "b"])
    listed = draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=author, universe=["b", "a"])
    assert listed.pk != first.pk
    again = draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=author, universe=["a", "b"])
    assert again.pk == listed.pk
    with pytest.raises(RecipeStateError, match="changed after it was shown"):
        approval_decide(approval=listed, **approved)
    approval_decide(approval=listed, universe=listed.universe, **approved)
    with pytest.raises(ApprovalNeededError, match="not this list of items"):
        publish(["a", "c"])
    assert publish(["a", "b"]).status == Recipe.Status.PUBLISHED
    entry = Entry.objects.filter(action="approved").latest("index")
    assert entry.details["universe"] == listed.universe


@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_what_no_database_stores_is_no_content_that_an_approval_has(
    draft: Recipe, author: User, other: User, client: Client, decision: str
) -> None:
    approval = asked(draft, author)
    client.force_login(other)
    address, page = f"/api/v1/recipes/{draft.pk}/{decision}/", reverse("recipe-approval", args=[draft.pk])
    for reviewed in ("\0", "a\0", "\ud800"):
        sent = json.dumps({"reviewed": reviewed, "note": "no"})
        answer = client.post(address, sent, content_type="application/json")
        assert (answer.status_code, answer.json()["field"]) == (400, "reviewed")
        form = urlencode({"reviewed": reviewed, "decision": decision}, errors="surrogatepass")
        answer = client.post(page, form, content_type="application/x-www-form-urlencoded")
        assert answer.status_code == 422
    approval.refresh_from_db()
    assert approval.state == Approval.State.ASKED
