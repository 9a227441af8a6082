"""The feed of results: valid whatever recipes are called, the same entry for good, and asked for cheaply."""

from xml.etree import ElementTree as ET

import pytest
from django.conf import LazySettings
from django.test import Client

from ledger.operations import population_create
from pages.feed.atom import atom_document
from pages.feed.views import BEGUN
from tests.factories import published_recipe
from tests.scenes import finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

ATOM = {"a": "http://www.w3.org/2005/Atom"}


def entries(client: Client, query: str = "") -> list[ET.Element]:
    answer = client.get(f"/feed.atom{query}")
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ET.fromstring(answer.content)  # noqa: S314  # our own
    for element in (feed, *feed.findall("a:entry", ATOM)):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"a:{name}", ATOM)) == 1, "RFC 4287, 4.1.1 and 4.1.2"
    return feed.findall("a:entry", ATOM)


def test_feed_has_released_results_of_real_devices_and_nothing_else(client: Client) -> None:
    assert 'type="application/atom+xml"' in client.get("/").content.decode()
    assert entries(client) == []
    population_create(name="clinics", description="", budget=None, actor=None)
    released = finished_recipe([[1]] * 12, cohort_size=10)
    finished_recipe([[1]] * 3, cohort_size=10)
    published_recipe()
    simulated_recipe({0: 12}, cohort_size=10)
    (entry,) = entries(client)
    assert entry.find("a:link", ATOM).get("href").endswith(f"/recipes/{released.identifier}/")
    assert entry.find("a:summary", ATOM).text.startswith(released.question)
    assert len(entries(client, "?population=everyone")) == 1
    assert entries(client, "?population=clinics") == []
    assert client.get("/feed.atom?population=nowhere").status_code == 404


def test_feed_is_valid_for_hostile_names_and_keeps_its_ids(client: Client, settings: LazySettings) -> None:
    hostile = ']]>&<script>"\U0001f600 é'
    finished_recipe([[1]] * 12, cohort_size=10, name=hostile)
    (entry,) = entries(client)
    assert entry.find("a:title", ATOM).text == hostile
    settings.SITE_URL = "https://elsewhere.example"
    (moved,) = entries(client)
    assert moved.find("a:id", ATOM).text == entry.find("a:id", ATOM).text
    assert moved.find("a:link", ATOM).get("href").startswith("https://elsewhere.example/")
    # What no XML can hold is left out.
    title = "".join(map(chr, [*range(32), 0xD800, 0xFFFE, 0xFFFF, 0x1F600]))
    document = atom_document(name="all", title=title, own="", home="", entries=[], begun=BEGUN)
    assert ET.fromstring(document).find("a:title", ATOM).text == " " * 35 + "\U0001f600"  # noqa: S314  # our own feed


def test_feed_that_has_not_changed_is_not_sent_again(client: Client) -> None:
    finished_recipe([[1]] * 12, cohort_size=10)
    answer = client.get("/feed.atom")
    for header, value in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
        again = client.get("/feed.atom", headers={header: answer[value]})
        assert (again.status_code, again.content) == (304, b"")
    finished_recipe([[0]] * 12, cohort_size=10)
    assert client.get("/feed.atom", headers={"If-None-Match": answer["ETag"]}).status_code == 200
    assert "public" in answer["Cache-Control"]
