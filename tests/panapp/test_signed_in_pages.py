import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from tests.scenes import account, finished_recipe, open_recipe

pytestmark = pytest.mark.django_db

LOG = ["/audit/", "/audit/1/", "/audit/check/", "/audit/export.csv", "/audit/export.json"]


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(account("ada", is_staff=True, is_superuser=True))
    return client


def caching(answer: HttpResponse) -> set[str]:
    return set(answer.headers.get("Cache-Control", "").split(", "))


@pytest.mark.parametrize("address", [*LOG, "/", "/plan/", "/admin/", "/nowhere/"])
def test_pages_and_files_for_somebody_who_is_signed_in_are_kept_by_no_browser(
    administrator: Client, address: str
) -> None:
    open_recipe()
    answer = administrator.get(address)
    assert answer.status_code == (404 if address == "/nowhere/" else 200)
    assert {"no-store", "private"} <= caching(answer)


def test_page_of_a_recipe_is_kept_for_strangers_only(administrator: Client) -> None:
    recipe = finished_recipe([[1], [0]])
    address = reverse("recipe", args=[recipe.identifier])
    assert "no-store" in caching(administrator.get(address))
    assert "no-store" not in caching(Client().get(address))


@pytest.mark.parametrize("address", ["/", "/plan/", "/api/v1/recipes/", "/api/schema/"])
def test_public_pages_keep_their_caching(client: Client, address: str) -> None:
    assert caching(client.get(address)) == {""}


@pytest.mark.parametrize("address", ["/api/v1/recipes/", "/api/v1/populations/", "/leader/hpke_config"])
def test_what_does_not_look_at_who_asks_is_cached_for_everybody(administrator: Client, address: str) -> None:
    answer, public = administrator.get(address), Client().get(address)
    assert answer.status_code == public.status_code == 200
    assert caching(answer) == caching(public)
    assert "Cookie" not in answer.headers.get("Vary", "")
