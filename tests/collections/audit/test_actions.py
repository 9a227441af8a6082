"""Apps declare what the log tells of; the log itself need not know them."""

import pytest
from django.core.management import call_command
from django.test import Client

from audit import registry
from audit.models import Entry
from audit.operations import entry_append
from audit.registry import Action, action_declare, public_actions, shown_details
from audit.selectors import entries_of_recipe
from tests.scenes import auditor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_declared_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DECLARED", dict(registry._DECLARED))


def append(action: Action) -> Entry:
    return entry_append(action=action, subject="recipe", actor=None, details={})


def test_declaring_a_second_action_of_one_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'recipe_closed'"):
        action_declare("recipe_closed", "Recipe burnt", public=False)


def test_declared_action_needs_no_migration_and_is_shown_wherever_actions_are(client: Client) -> None:
    entry = append(action_declare("recipe_burnt", "Recipe burnt, every page of it", public=True))
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    client.force_login(auditor())
    log = client.get("/audit/", {"action": "recipe_burnt"})
    assert log.context["page"].rows == [entry]
    option = '<option value="recipe_burnt" selected>Recipe burnt, every page of it</option>'
    assert option in log.content.decode()
    assert f"<h1>{entry.get_action_display()}</h1>" in client.get(f"/audit/{entry.index}/").content.decode()
    assert list(entries_of_recipe("recipe")) == [entry]


def test_action_that_no_installed_app_declares_is_shown_in_words_and_to_log_readers_only() -> None:
    entry = append(Action("recipe_burnt", "Nobody reads this", public=True))
    assert entry.get_action_display() == "Recipe burnt"
    assert not entries_of_recipe("recipe").exists()


def test_public_logs_tell_of_recipes_and_results_and_never_of_people() -> None:
    assert set(public_actions()) == {
        *("recipe_published", "recipe_closed", "result_released", "result_withheld", "intrusion_announced"),
        *("result_held", "result_allowed", "result_recorded", "reports_sealed"),
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
        # Of reports in object storage: a hash.
        "manifest",
        # Of keys: hashes, numbers, and the public ones of partners.
        *("sha256", "retires", "token_key", "key"),
        # Of budgets: what they are, and the privacy events that recipes spend of them.
        *("epsilon", "delta", "rule", "spends", "reserves", "spending_returned"),
        # Of populations: what devices may say of themselves to themselves.
        "attributes",
        # Of a log that lost entries: its name before, and two sizes.
        *("before", "entries", "lost"),
    }
