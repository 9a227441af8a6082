"""Django's admin looks like the site, and asks nothing of a browser that the site's policy refuses."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.scenes import account

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
