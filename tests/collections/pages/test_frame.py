"""What all pages have: their frame, what is missing, and how long browsers may keep them."""

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.template import loader
from django.test import Client
from django.urls import reverse

from pages.not_found import KINDS
from tests.collections.pages.scene import TABS
from tests.page_text import page_text
from tests.scenes import account, analyst, finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db


def test_icon_and_page_of_a_fault_need_nothing_of_a_visitor(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert finders.find(answer["Location"].removeprefix("/static/"))
    page = loader.get_template("500.html").render()
    assert "Something went wrong on our side" in page
    assert reverse("sign-in") in page


def test_pages_load_nothing_from_elsewhere(client: Client) -> None:
    recipe = simulated_recipe({0: 20, 1: 20})
    for tab in TABS:
        response = client.get(reverse(tab, args=[recipe.identifier]))
        # What to paste into pages elsewhere is text, no element.
        page = page_text(response).replace('&lt;img src="http', "")
        for attribute in ('src="http', 'src="//', 'href="//', '<link rel="stylesheet" href="http'):
            assert attribute not in page
        policy = response["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert ("nonce-" in policy) is (tab == "recipe"), "for the chart alone"


HASH = "0" * 64


def test_what_is_missing_is_named(client: Client) -> None:
    client.force_login(analyst())
    for path, said in (
        *((reverse(tab, args=[HASH]), "There is no such recipe") for tab in TABS),
        (f"/recipes/new/?from={HASH}", "There is no such recipe"),
        ("/populations/nowhere/", "There is no such population"),
        ("/series/0123456789abcdef/", "There is no such series"),
        ("/feed.atom?series=abc", "There is no such series"),
        ("/recipes/drafts/999/", "There is no such draft"),
        ("/recipes/drafts/999/edit/", "There is no such draft"),
        ("/audit/999999/", "There is no such entry in the log"),
        ("/nowhere/", "There is no such page"),
        ("/recipes/abc/", "There is no such page"),
    ):
        answer = client.get(path)
        assert answer.status_code == 404
        links = [f'href="{reverse(name)}"' for name in ("series-list", "populations", "public-log")]
        for shown in (f"<h1>{said}</h1>", f"<title>{said}", *links):
            assert shown in page_text(answer)
    pages = {path.stem for path in (settings.BASE_DIR / "templates" / "missing").glob("*.html")}
    assert pages == set(KINDS)


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(account("ada", is_staff=True, is_superuser=True))
    return client


def caching(answer: HttpResponse) -> set[str]:
    return set(answer.headers.get("Cache-Control", "").split(", "))


def test_what_an_account_is_shown_is_kept_by_no_browser(administrator: Client) -> None:
    recipe = finished_recipe([[1], [0]])
    tabs = [reverse(tab, args=[recipe.identifier]) for tab in TABS]
    own = ["/audit/", "/audit/1/", "/audit/check/", "/audit/export.csv", "/audit/export.json", "/admin/"]
    for address in (*own, "/", "/plan/", "/nowhere/", *tabs):
        answer = administrator.get(address)
        assert answer.status_code == (404 if address == "/nowhere/" else 200)
        assert {"no-store", "private"} <= caching(answer)
        assert address in own or "no-store" not in caching(Client().get(address))


def test_what_is_the_same_for_all_accounts_is_cached(administrator: Client) -> None:
    for address in ("/", "/plan/", "/api/v1/recipes/", "/api/schema/"):
        assert caching(Client().get(address)) == {""}
    for address in ("/api/v1/recipes/", "/api/v1/populations/", "/leader/hpke_config"):
        answer, public = administrator.get(address), Client().get(address)
        assert answer.status_code == public.status_code == 200
        assert caching(answer) == caching(public)
        assert "Cookie" not in answer.headers.get("Vary", "")
