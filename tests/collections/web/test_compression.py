"""A page is compressed unless its size could tell what only its reader may know."""

import gzip

import pytest
from django.test import Client
from django.urls import reverse

from tests.collections.pages.scene import TABS
from tests.factories import published_recipe
from tests.scenes import analyst, finished_recipe

pytestmark = pytest.mark.django_db

ACCEPTED = {"Accept-Encoding": "gzip"}


def is_compressed(client: Client, path: str) -> bool:
    return client.get(path, headers=ACCEPTED).get("Content-Encoding") == "gzip"


def test_pages_for_everybody_are_compressed_and_stay_small(client: Client) -> None:
    recipe = finished_recipe([[1]] * 40)
    tabs = [reverse(tab, args=[recipe.identifier]) for tab in TABS]
    for path in ("/", *tabs):
        response = client.get(path, headers=ACCEPTED)
        assert response["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in response["Vary"]
        assert b"On how many devices did it crash?" in gzip.decompress(response.content)
        assert len(response.content) < 60_000
    assert "Content-Encoding" not in client.get("/")


def test_page_that_repeats_a_query_next_to_secrets_is_not_compressed(client: Client) -> None:
    published_recipe()
    assert is_compressed(client, "/?q=crash")
    client.force_login(analyst())
    assert not is_compressed(client, "/?q=crash")
    assert is_compressed(client, "/")
    wrong = client.post("/sign-in/", {"username": "ana", "password": "x"}, headers=ACCEPTED)
    assert "Content-Encoding" not in wrong


def test_length_of_a_compressed_page_is_different_each_time(client: Client) -> None:
    """Of 101 equally likely lengths of what is added, 8 are the same with a probability of 1e-14."""
    assert len({len(client.get("/", headers=ACCEPTED).content) for _ in range(8)}) > 1


def test_answers_to_programs_are_sent_as_they_are(client: Client) -> None:
    assert not is_compressed(client, f"/api/v1/recipes/{published_recipe().identifier}/")
