"""The page of a recipe in rounds says where it stands, and what all rounds guarantee together."""

import pytest
from django.urls import reverse

from series.in_order import input_publish
from series.operations import rounds_advance, series_publish
from tests.factories import recipe_members

pytestmark = pytest.mark.django_db


def test_page_of_rounds_says_what_they_wait_for_and_what_all_guarantee(client):
    in_rounds = {"steps": 1, "step_seconds": 1, "rounds": 3, "round_seconds": 60, "public_input": True}
    members = recipe_members(cohort_size=20, sampling_rate=0.2, **in_rounds)
    series = series_publish(members=members, actor=None)
    address = reverse("series", args=[series.identifier])
    page = client.get(address).content.decode()
    assert "3 rounds, one after the\n  other" in page
    assert "waits\n  for its public input" in page
    assert "What all 3 rounds guarantee together" in page
    input_publish(series=series, number=1, content={}, actor=None)
    assert "opens within seconds" in client.get(address).content.decode()
    rounds_advance()
    assert "opens when this one has ended" in client.get(address).content.decode()
