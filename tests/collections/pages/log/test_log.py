import csv
import hashlib
import io
import json
from datetime import timedelta

import pytest
import rfc8785
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from log.audit.actions import ACCESS_DENIED
from log.audit.models import Entry
from log.audit.operations import entry_append
from tests.factories import published_recipe
from tests.scenes import account, analyst, auditor

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(auditor())
    return client


def append(subject: str) -> Entry:
    return entry_append(action=ACCESS_DENIED, subject=subject, actor=None, details={"change": "joined"})


def test_log_is_for_permitted_readers_only(client: Client) -> None:
    published_recipe()
    readers = [analyst(), auditor(), account("boss", is_staff=True)]
    passerby = account("passerby")
    for page in ("/audit/", "/audit/check/", "/audit/export.csv", "/audit/export.json", "/audit/1/"):
        client.logout()
        assert client.get(page)["Location"] == f"{reverse('sign-in')}?next={page}"
        client.force_login(passerby)
        refused = client.get(page)
        assert refused.status_code == 403
        assert "Only analysts, auditors and staff" in refused.content.decode()
        for user in readers:
            client.force_login(user)
            assert client.get(page).status_code == 200
    first = Entry.objects.filter(action="access_denied").order_by("index")[0]
    assert (first.actor, first.details) == ("passerby", {"method": "GET", "path": "/audit/", "page": "audit"})


def denied(actor: str) -> int:
    return Entry.objects.filter(action="access_denied", actor=actor).count()


def test_repeated_refusal_is_on_record_once_an_hour(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
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


def found(reader: Client, **query: str) -> list[str]:
    return [row.subject for row in reader.get("/audit/", query).context["page"].rows]


def test_log_is_searched_by_index_hash_words_action_and_actor(reader: Client) -> None:
    first, second = append("alpha"), append("beta")
    # Ahead of the recipe, whose identifier may begin with the digit of an index.
    assert found(reader, q=str(first.index)) == [first.subject]
    recipe = published_recipe()
    assert found(reader, q=second.entry_hash[:12]) == [second.subject]
    assert found(reader, q="ALPH") == [first.subject]
    assert found(reader, action="recipe_published") == [recipe.identifier]
    assert found(reader, actor="nobody") == []


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


def test_log_bears_any_query_and_any_index(reader: Client) -> None:
    for query, status in (
        *(("q=%00", 400), ("actor=%00", 400), ("before=x", 400), (f"before={'9' * 30}", 400)),
        *(("action=nonsense", 200), (f"q={'9' * 4000}", 200), ("q=%EF%BC%91", 200)),
    ):
        assert reader.get(f"/audit/?{query}").status_code == status
    for index in ("0", "99", "9" * 30, "9" * 5000):
        assert reader.get(f"/audit/{index}/").status_code == 404


def test_entry_page_shows_details_neighbours_and_the_raw_entry(reader: Client) -> None:
    first, second, third = append("alpha"), append("beta"), append("gamma")
    response = reader.get(reverse("audit-entry", args=[second.index]))
    page = response.content.decode()
    assert json.loads(response.context["raw"])["entry_hash"] == second.entry_hash
    for text in ("beta", "joined", second.salt, f"/audit/{first.index}/", f"/audit/{third.index}/"):
        assert text in page


def test_chain_check_names_the_entry_that_was_changed_outside_the_product(reader: Client) -> None:
    from log.audit.guards import ENTRIES

    entry, last = append("alpha"), append("beta")
    page = reader.get("/audit/check/").content.decode()
    assert f"All {last.index} entries match" in page
    assert reader.get("/log/checkpoint").content.decode().splitlines()[2] in page
    with connection.cursor() as cursor:
        for statement in ENTRIES.remove_statements(connection.vendor):
            cursor.execute(statement)
    Entry.objects.filter(index=entry.index).update(subject="somebody else")
    page = reader.get("/audit/check/", HTTP_HX_REQUEST="true").content.decode()
    assert "The log is broken" in page
    assert f"entry {entry.index} does not match its hash" in page
    assert "<html" not in page


def test_exports_hold_what_the_filters_match_and_what_every_hash_is_of(reader: Client) -> None:
    append("alpha")
    wanted = append("=beta()")
    text = reader.get("/audit/export.csv", {"q": "beta"}).getvalue().decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (int(row["index"]), row["entry_hash"]) == (wanted.index, wanted.entry_hash)
    assert (row["subject"], row["salt"]) == ("'=beta()", wanted.salt)
    (entry,) = json.loads(reader.get("/audit/export.json", {"q": "beta"}).getvalue())
    assert entry["subject"] == "=beta()"
    assert json.loads(reader.get("/audit/export.json", {"q": "nowhere"}).getvalue()) == []
    entries = json.loads(reader.get("/audit/export.json").getvalue())
    assert len(entries) == Entry.objects.count() > 1
    hashes = [entry.pop("entry_hash") for entry in entries]
    assert [hashlib.sha256(rfc8785.dumps(members)).hexdigest() for members in entries] == hashes
