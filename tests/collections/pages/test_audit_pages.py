import csv
import hashlib
import io
import json
import time
from datetime import timedelta

import pytest
import rfc8785
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.actions import ACCESS_DENIED
from audit.models import Entry
from audit.operations import entry_append
from tests.factories import published_recipe
from tests.scenes import PASSWORD, account, analyst, auditor

pytestmark = pytest.mark.django_db

OPERATIONS = (settings.BASE_DIR / "docs" / "operations.md").read_text()


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(auditor())
    return client


def append(subject: str) -> Entry:
    return entry_append(action=ACCESS_DENIED, subject=subject, actor=None, details={"change": "joined"})


PAGES = {
    "/audit/": "audit",
    "/audit/check/": "audit-check",
    "/audit/export.csv": "audit-export",
    "/audit/export.json": "audit-export",
    "/audit/1/": "audit-entry",
}


@pytest.mark.parametrize(("page", "name"), PAGES.items())
def test_log_is_for_those_who_may_read_it(client: Client, page: str, name: str) -> None:
    published_recipe()
    response = client.get(page)
    assert response.status_code == 302
    assert response["Location"] == f"{reverse('sign-in')}?next={page}"
    client.force_login(account("passerby"))
    refused = client.get(page)
    assert refused.status_code == 403
    assert "Only analysts, auditors and staff" in refused.content.decode()
    denied = Entry.objects.filter(action="access_denied", actor="passerby").get()
    assert denied.details == {"method": "GET", "path": page, "page": name}


def denied(actor: str) -> int:
    return Entry.objects.filter(action="access_denied", actor=actor).count()


def test_who_is_refused_at_a_page_again_and_again_is_on_record_once_an_hour(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(account("passerby"))
    for number in range(1, 6):
        # Other paths, methods and headers do not make it another page.
        assert client.get(f"/audit/{number}/").status_code == 403
        assert client.post(f"/audit/{number}/").status_code == 403
    assert denied("passerby") == 1
    client.get("/audit/")
    client.get("/recipes/new/")
    assert denied("passerby") == 3
    other = Client()
    other.force_login(account("other"))
    other.get("/audit/1/")
    assert denied("other") == 1
    now = timezone.now()
    for minutes, entries in ((59, 3), (61, 4), (90, 4)):
        with monkeypatch.context() as later:
            later.setattr(timezone, "now", lambda passed=timedelta(minutes=minutes): now + passed)
            assert client.get("/audit/2/").status_code == 403
        assert denied("passerby") == entries


def test_analysts_auditors_and_staff_may_read_the_log(client: Client) -> None:
    for user in (analyst(), auditor(), account("boss", is_staff=True)):
        client.force_login(user)
        assert client.get("/audit/").status_code == 200


@pytest.mark.searches
def test_log_finds_entries_by_index_hash_and_words(reader: Client) -> None:
    first, second = append("alpha"), append("beta")
    for text, found in [(str(first.index), first), (second.entry_hash[:12], second), ("ALPH", first)]:
        rows = reader.get("/audit/", {"q": text}).context["page"].rows
        assert rows == [found]


def test_log_filters_by_action_and_actor(reader: Client) -> None:
    append("alpha")
    recipe = published_recipe()
    rows = reader.get("/audit/", {"action": "recipe_published"}).context["page"].rows
    assert [row.subject for row in rows] == [recipe.identifier]
    assert reader.get("/audit/", {"actor": "nobody"}).context["page"].rows == []


@pytest.mark.searches
def test_log_pages_by_key(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.log.views.PAGE_SIZE", 2)
    appended = [append(f"subject {number}").index for number in range(5)]
    seen: list[int] = []
    query = "?q=subject"
    while query:
        page = reader.get(f"/audit/{query}").context["page"]
        seen += [row.index for row in page.rows]
        query = page.older
    assert seen == appended[::-1]


@pytest.mark.searches
@pytest.mark.parametrize("query", ["q=%00", "actor=%00", "action=nonsense", f"q={'9' * 4000}", "q=%EF%BC%91"])
def test_log_bears_any_search_text(reader: Client, query: str) -> None:
    assert reader.get(f"/audit/?{query}").status_code == (400 if "%00" in query else 200)


@pytest.mark.searches
@pytest.mark.parametrize("query", ["before=x", f"before={'9' * 30}"])
def test_log_refuses_a_page_that_no_link_led_to(reader: Client, query: str) -> None:
    assert reader.get(f"/audit/?{query}").status_code == 400


def test_entry_page_shows_details_neighbours_and_the_raw_entry(reader: Client) -> None:
    first, second, third = append("alpha"), append("beta"), append("gamma")
    response = reader.get(reverse("audit-entry", args=[second.index]))
    page = response.content.decode()
    assert json.loads(response.context["raw"])["entry_hash"] == second.entry_hash
    for text in ("beta", "joined", second.previous_hash, f"/audit/{first.index}/", f"/audit/{third.index}/"):
        assert text in page


@pytest.mark.searches
@pytest.mark.parametrize("index", ["0", "99", "9" * 30, "9" * 5000])
def test_entry_page_of_an_unknown_index_is_not_found(reader: Client, index: str) -> None:
    assert reader.get(f"/audit/{index}/").status_code == 404


def test_chain_check_says_that_the_log_holds(reader: Client) -> None:
    last = append("alpha")
    page = reader.get("/audit/check/").content.decode()
    assert f"All {last.index} entries match" in page
    assert reader.get("/log/checkpoint").content.decode().splitlines()[2] in page


@pytest.mark.searches
def test_chain_check_names_the_entry_that_was_changed_outside_the_product(reader: Client) -> None:
    from audit.guards import ENTRIES

    entry = append("alpha")
    append("beta")
    with connection.cursor() as cursor:
        for statement in ENTRIES.remove_statements(connection.vendor):
            cursor.execute(statement)
    Entry.objects.filter(index=entry.index).update(subject="somebody else")
    page = reader.get("/audit/check/", HTTP_HX_REQUEST="true").content.decode()
    assert "The log is broken" in page
    assert f"entry {entry.index} does not match its hash" in page
    assert "<html" not in page


@pytest.mark.searches
def test_exports_hold_what_the_filters_match(reader: Client) -> None:
    append("alpha")
    wanted = append("=beta()")
    text = reader.get("/audit/export.csv", {"q": "beta"}).getvalue().decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (int(row["index"]), row["entry_hash"]) == (wanted.index, wanted.entry_hash)
    assert row["subject"] == "'=beta()"
    (entry,) = json.loads(reader.get("/audit/export.json", {"q": "beta"}).getvalue())
    assert entry["subject"] == "=beta()"
    assert json.loads(reader.get("/audit/export.json", {"q": "nowhere"}).getvalue()) == []


def test_json_export_is_enough_to_compute_every_hash_again(reader: Client) -> None:
    append("alpha")
    entries = json.loads(reader.get("/audit/export.json").getvalue())
    assert len(entries) == Entry.objects.count() > 1
    hashes = [entry.pop("entry_hash") for entry in entries]
    hashed = [
        {name: value for name, value in entry.items() if value or name not in ("previous_hash", "salt")}
        for entry in entries
    ]
    assert [hashlib.sha256(rfc8785.dumps(members)).hexdigest() for members in hashed] == hashes


def test_page_and_exports_show_the_salt_to_those_who_may_see_the_actor(reader: Client) -> None:
    entry = append("alpha")
    assert entry.salt in reader.get(reverse("audit-entry", args=[entry.index])).content.decode()
    for form in ("csv", "json"):
        assert entry.salt in reader.get(reverse("audit-export", args=[form])).getvalue().decode()


def test_sign_in_with_the_right_password_leads_to_where_one_wanted_to_go(client: Client) -> None:
    analyst()
    data = {"username": "ana", "password": PASSWORD, "next": "/audit/"}
    assert client.post(reverse("sign-in"), data)["Location"] == "/audit/"
    elsewhere = {**data, "next": "https://elsewhere.example/"}
    client.logout()
    assert client.post(reverse("sign-in"), elsewhere)["Location"] == "/"


def sign_in(client: Client, password: str) -> int:
    return client.post(reverse("sign-in"), {"username": "ana", "password": password}).status_code


@pytest.fixture
def locked(client: Client) -> Client:
    """A visitor who failed to sign in as Ana eight times."""
    analyst()
    assert [sign_in(client, "wrong") for _ in range(8)] == [200] * 7 + [429]
    return client


def test_sign_in_is_locked_after_repeated_failures(locked: Client) -> None:
    page = locked.post(reverse("sign-in"), {"username": "ana", "password": PASSWORD})
    assert page.status_code == 429
    assert "locked for a while" in page.content.decode()
    # From elsewhere, and under other names, everybody signs in as ever.
    account("anne")
    anne = {"username": "anne", "password": PASSWORD}
    assert locked.post(reverse("sign-in"), anne).status_code == 302
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), PASSWORD) == 302


def test_lock_ends_after_a_quarter_of_an_hour_however_often_one_knocks(
    locked: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time
    for minutes, status in ((5, 429), (14, 429), (16, 302)):
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda passed=60 * minutes: now() + passed)
            assert sign_in(locked, PASSWORD) == status


def test_documented_command_unlocks_where_the_cache_is_shared(locked: Client) -> None:
    # The test's cache is shared in that the command runs in the server's own process.
    assert "`python manage.py axes_reset_ip_username ADDRESS NAME`" in OPERATIONS
    answer = io.StringIO()
    call_command("axes_reset_ip_username", "127.0.0.1", "anne", stdout=answer)
    assert sign_in(locked, PASSWORD) == 429
    call_command("axes_reset_ip_username", "127.0.0.1", "ana", stdout=answer)
    assert answer.getvalue().splitlines() == ["No attempts found.", "1 attempts removed."]
    assert sign_in(locked, PASSWORD) == 302


def test_failed_sign_ins_fill_no_table(locked: Client) -> None:
    assert {model.objects.count() for model in apps.get_app_config("axes").get_models()} == {0}


def test_sign_out_needs_a_form(client: Client) -> None:
    client.force_login(analyst())
    assert client.get(reverse("sign-out")).status_code == 405
    client.post(reverse("sign-out"))
    assert client.get("/audit/").status_code == 302
