"""What is not there is said by its kind."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from pages.missing import KINDS
from tests.page_text import page_text
from tests.scenes import analyst

pytestmark = pytest.mark.django_db

HASH = "0" * 64


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"/recipes/{HASH}/", "There is no such recipe"),
        (f"/recipes/new/?from={HASH}", "There is no such recipe"),
        ("/populations/nowhere/", "There is no such population"),
        ("/series/0123456789abcdef/", "There is no such series"),
        ("/feed.atom?series=abc", "There is no such series"),
        ("/recipes/drafts/999/", "There is no such draft"),
        ("/recipes/drafts/999/edit/", "There is no such draft"),
        ("/audit/999999/", "There is no such entry in the log"),
        ("/nowhere/", "There is no such page"),
        ("/recipes/abc/", "There is no such page"),
    ],
)
def test_what_is_missing_is_named(client: Client, path: str, said: str) -> None:
    client.force_login(analyst())
    answer = client.get(path)
    assert answer.status_code == 404
    page = page_text(answer)
    assert f"<h1>{said}</h1>" in page
    assert f"<title>{said}" in page
    assert reverse("populations") in page


def test_every_kind_has_a_page() -> None:
    pages = {path.stem for path in (settings.BASE_DIR / "templates" / "missing").glob("*.html")}
    assert pages == set(KINDS)
