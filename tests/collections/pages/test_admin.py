"""Django's admin looks like the site, and asks nothing of a browser that the site's policy refuses."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry
from tests.factories import draft_recipe
from tests.page_text import page_text
from tests.scenes import account, finished_recipe

pytestmark = pytest.mark.django_db


def test_admin_pages_have_the_sites_frame_and_nothing_inline(client: Client) -> None:
    root = account("root", is_staff=True, is_superuser=True)
    client.force_login(root)
    own = [reverse(f"admin:auth_user_{page}", args=[root.pk]) for page in ("change", "delete", "history")]
    for address in ("/admin/", "/admin/auth/user/", "/admin/auth/group/add/", *own):
        page = client.get(address).content.decode()
        assert "Private telemetry · Administration</title>" in page
        assert page.count('class="skip"') == page.count('<nav aria-label="Main">') == page.count("<h1") == 1
        assert page.count("Sign out everywhere") == 1
        assert "<style" not in page
        assert " style=" not in page
        assert "Log out" not in page
    popup = client.get("/admin/auth/group/add/?_popup=1").content.decode()
    assert "<header" not in popup
    assert 'name="_popup"' in popup


def test_admin_sets_no_date_of_an_account(client: Client) -> None:
    root, mary = account("root", is_staff=True, is_superuser=True), account("mary")
    client.force_login(root)
    members = {"username": "maria", "date_joined_0": "2001-01-01", "date_joined_1": "00:00:00"}
    client.post(reverse("admin:auth_user_change", args=[mary.pk]), members)
    joined = mary.date_joined
    mary.refresh_from_db()
    assert (mary.username, mary.date_joined) == ("maria", joined)


def test_admin_shows_what_is_public_and_changes_nothing(client: Client) -> None:
    recipe, draft = finished_recipe([[1]] * 6, name="Public already"), draft_recipe(name="Not public yet")
    client.force_login(User.objects.create_superuser("root", password="x"))
    for model, pk in (
        ("recipes/recipe", recipe.pk),
        ("releases/release", recipe.release.pk),
        ("audit/entry", Entry.objects.first().pk),
    ):
        assert client.get(f"/admin/{model}/").status_code == 200
        assert client.get(f"/admin/{model}/{pk}/change/").status_code == 200
        assert client.post(f"/admin/{model}/{pk}/change/", {}).status_code == 403
        assert client.post(f"/admin/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403
        assert client.get(f"/admin/{model}/add/").status_code == 403
    page = page_text(client.get("/admin/recipes/recipe/"))
    assert "Public already" in page
    assert "Not public yet" not in page
    assert client.get(f"/admin/recipes/recipe/{draft.pk}/change/").status_code == 302
    page = page_text(client.get(f"/admin/recipes/recipe/{recipe.pk}/change/"))
    assert "admin.css" in page
    assert "Draft:" not in page
