"""The log of what happened: its entries, its search, and the actions that apps declare."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import transaction
from django.db.models import JSONField
from django.test import Client, RequestFactory
from django.utils import timezone

from log.audit import registry, sign_in
from log.audit.access import signed_in_user
from log.audit.actions import ACCESS_DENIED, SIGN_IN_FAILED
from log.audit.models import Entry, Head
from log.audit.operations import entry_append, hash_of
from log.audit.registry import Action, action_declare, public_actions, shown_details
from log.audit.selectors import BrokenLogError, entries_of_recipe, entries_search, entry_verify
from log.audit.sign_in import UNKNOWN_ACCOUNT
from recipes.actions import RECIPE_CLOSED
from tests.scenes import auditor

pytestmark = pytest.mark.django_db


def append(subject: str = "recipe", action: Action = ACCESS_DENIED, **details: Any) -> Entry:
    return entry_append(action=action, subject=subject, actor=None, details=details)


def test_entries_are_numbered_without_gaps_and_hashed() -> None:
    first, second = append("a"), append("b", why="because")
    assert (first.index, second.index) == (1, 2)
    assert [entry.entry_hash for entry in (first, second)] == [hash_of(first), hash_of(second)]
    assert first.entry_hash != second.entry_hash


def test_entry_that_is_given_back_otherwise_is_not_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    append("a")
    monkeypatch.setattr(JSONField, "from_db_value", lambda *_: {"why": "another"})
    with pytest.raises(ValueError, match="not read as they were written"):
        append("b", why="because")
    assert list(Entry.objects.values_list("subject", flat=True)) == ["a"]
    assert Head.objects.get().index == 1


def test_search_finds_by_index_hash_text_and_filters() -> None:
    first, second = append("alpha"), append("beta", action=SIGN_IN_FAILED)
    assert list(entries_search(text=str(first.index))) == [first]
    assert list(entries_search(text=second.entry_hash[:12])) == [second]
    assert list(entries_search(text="ALPH")) == [first]
    digits = next(e for e in (append(f"s{n}") for n in range(10_000)) if e.entry_hash[:8].isdigit())
    assert list(entries_search(text=digits.entry_hash[:8])) == [digits]
    assert list(entries_search(action="sign_in_failed")) == [second]


def test_public_log_of_a_recipe_leaves_out_what_is_not_public() -> None:
    append("recipe", action=ACCESS_DENIED)
    public = append("recipe", action=RECIPE_CLOSED)
    assert list(entries_of_recipe("recipe")) == [public]


def test_failed_sign_in_is_logged_without_what_was_typed() -> None:
    User.objects.create_user("mary", password="correct horse")
    entries_before = Entry.objects.count()
    client = Client()
    for username in ("mary", "my-secret-password"):
        client.post("/sign-in/", {"username": username, "password": "wrong"})
    entries = list(Entry.objects.filter(action="sign_in_failed").order_by("index"))
    assert [entry.subject for entry in entries] == ["mary", UNKNOWN_ACCOUNT]
    assert Entry.objects.count() == entries_before + 2
    assert "secret-password" not in str([(e.subject, e.actor, e.details) for e in entries])


def test_flood_of_failed_sign_ins_locks_and_stops_filling_the_log(settings: Any) -> None:
    User.objects.create_user("mary", password="correct horse")
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT + 10):
        client.post("/sign-in/", {"username": "mary", "password": "wrong"})
    entries = Entry.objects.filter(subject="mary")
    assert entries.filter(action="sign_in_locked").count() == 1
    assert entries.filter(action="sign_in_failed").count() <= settings.AXES_FAILURE_LIMIT


def failures(subject: str) -> int:
    return Entry.objects.filter(action="sign_in_failed", subject=subject).count()


def test_flood_of_failures_is_recorded_up_to_a_number(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "MOST", 5)
    User.objects.create_user("mary", password="correct horse")

    def flood() -> None:
        for number in range(8):
            client = Client(REMOTE_ADDR=f"192.0.2.{number}")
            client.post(
                "/sign-in/", {"username": "mary" if number % 2 else f"n{number}", "password": "wrong"}
            )
        # Who signs in in between takes nothing back.
        Client().post("/sign-in/", {"username": "mary", "password": "correct horse"})

    flood()
    assert (failures("mary"), failures(UNKNOWN_ACCOUNT)) == (2, 3)
    later = timezone.now() + timedelta(hours=settings.AXES_COOLOFF_TIME)
    monkeypatch.setattr(timezone, "now", lambda: later)
    flood()
    assert (failures("mary"), failures(UNKNOWN_ACCOUNT)) == (4, 6)


def test_growth_of_the_log_shows_no_name_of_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else anybody could find out by the size of the checkpoint."""
    monkeypatch.setattr(sign_in, "MOST", 12)
    User.objects.create_user("mary@example.org", password="correct horse")

    def grown(username: str) -> int:
        before = Entry.objects.count()
        # Each from its own address: nothing is refused unread.
        for number in range(2):
            client = Client(REMOTE_ADDR=f"192.0.2.{number}")
            client.post("/sign-in/", {"username": username, "password": "wrong"})
        return Entry.objects.count() - before

    for wasted in range(5):
        assert grown(f"nobody {wasted}") == 2
    assert grown("mary@example.org") == 2
    assert (grown("mary@example.org"), grown("anne@example.org")) == (0, 0)


def test_groups_are_made_by_the_migrations_with_the_right_permissions() -> None:
    def names(group: str) -> set[str]:
        return set(Group.objects.get(name=group).permissions.values_list("codename", flat=True))

    assert "publish_recipe" in names("Analysts")
    assert names("Auditors") == {"view_recipe", "view_release", "view_entry"}


def test_entries_equal_but_for_their_salts_have_different_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Salts have 128 bits."""
    monkeypatch.setattr("log.audit.operations.timezone.now", lambda: datetime(2026, 1, 31, 12, tzinfo=UTC))
    made = []
    for _ in range(10):
        with transaction.atomic():
            entry = append("recipe")
            transaction.set_rollback(True)
        made.append({field.name: getattr(entry, field.name) for field in Entry._meta.concrete_fields})
    assert {name for name in made[0] if made[0][name] != made[1][name]} == {"salt", "entry_hash"}
    assert len({values["salt"] for values in made}) == 10
    assert all(re.fullmatch("[0-9a-f]{32}", values["salt"]) for values in made)


@pytest.mark.parametrize("salt", ["0" * 32, ""])
def test_verify_names_the_entry_whose_salt_was_changed_or_taken(salt: str) -> None:
    entry = append()
    entry_verify(entry)
    entry.salt = salt
    with pytest.raises(BrokenLogError, match="entry 1 does not match"):
        entry_verify(entry)


def test_account_of_a_request_is_signed_in_or_refused() -> None:
    request = RequestFactory().get("/")
    request.user = User(username="ada")
    assert signed_in_user(request) is request.user
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        signed_in_user(request)


@pytest.fixture(autouse=True)
def as_declared_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DECLARED", dict(registry._DECLARED))


def test_declaring_a_second_action_of_one_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'recipe_closed'"):
        action_declare("recipe_closed", "Recipe burnt", public=False)


def test_declared_action_needs_no_migration_and_is_shown(client: Client) -> None:
    entry = append(action=action_declare("recipe_burnt", "Recipe burnt, every page of it", public=True))
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    client.force_login(auditor())
    log = client.get("/audit/", {"action": "recipe_burnt"})
    assert log.context["page"].rows == [entry]
    option = '<option value="recipe_burnt" selected>Recipe burnt, every page of it</option>'
    assert option in log.content.decode()
    assert f"<h1>{entry.get_action_display()}</h1>" in client.get(f"/audit/{entry.index}/").content.decode()
    assert list(entries_of_recipe("recipe")) == [entry]


def test_action_that_no_app_declares_is_shown_to_log_readers_only() -> None:
    entry = append(action=Action("recipe_burnt", "Nobody reads this", public=True))
    assert entry.get_action_display() == "Recipe burnt"
    assert not entries_of_recipe("recipe").exists()


def test_public_logs_are_about_recipes_and_results_not_people() -> None:
    assert set(public_actions()) == {
        *("recipe_published", "recipe_closed", "result_released", "result_withheld", "intrusion_announced"),
        *("result_held", "result_allowed", "reports_sealed", "list_accepted", "verdict_filed"),
        *("joint_recipe_joined", "joint_list_signed", "joint_part_given", "joint_recipe_ended"),
        *("series_published", "series_marked", "series_round_skipped", "series_stopped"),
        *("rounds_published", "round_input_published"),
        *("task_registered", "share_released", "task_ended"),
        *("issuance_registered", "issuance_ended"),
        *("batch_registered", "batch_shuffled", "batch_ended"),
        *("ohttp_key_introduced", "hpke_key_introduced", "partner_key_introduced", "partner_key_retired"),
        *("attributes_declared", "budget_set", "log_renamed", "signing_key_changed"),
    }
    # Everybody reads these in the public log, for good: no reason that somebody typed, and no account.
    assert {name for action in public_actions() for name in shown_details(action) or ()} == {
        *("name", "statistic", "population", "trust", "simulation", "closes_at", "reports", "result"),
        *("every", "time_zone", "rounds", "rounds_left", "round", "of", "cohort_size", "full"),
        # Of reports in object storage, and with a joint key: hashes. Of verdicts: the name of a check.
        *("manifest", "list", "failed"),
        # Of keys: hashes, numbers, and the public ones of partners.
        *("sha256", "retires", "token_key", "key"),
        # Of budgets: what they are, and the privacy events that recipes spend of them.
        *("epsilon", "delta", "rule", "spends", "reserves", "spending_returned"),
        # Of populations: what devices may say of themselves to themselves.
        "attributes",
        # Of a log that lost entries: its name before, and two sizes.
        *("before", "entries", "lost"),
    }
