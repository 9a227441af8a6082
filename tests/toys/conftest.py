"""Toys in the registries for one test, and whatever a site needs to offer every type of statistic."""

from typing import Any

import pytest
from django.test import Client

from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.randomized import RANDOMIZERS
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.streams import STREAM_STATISTICS
from tests.collections.recipes.planner.conftest import few_points, sent  # noqa: F401  # fixtures
from tests.toys.events import ToyEvents
from tests.toys.items import ToyItems
from tests.toys.randomized import ToyRandomized
from tests.toys.value import ToyValue


@pytest.fixture
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """One registry line for each."""
    monkeypatch.setitem(MECHANISMS, ToyEvents.statistic, ToyEvents)
    monkeypatch.setitem(RANDOMIZERS, ToyRandomized.statistic, ToyRandomized)
    monkeypatch.setitem(SHUFFLE_STATISTICS, ToyValue.statistic, ToyValue)
    monkeypatch.setitem(STREAM_STATISTICS, ToyItems.statistic, ToyItems)


@pytest.fixture
def _with_shuffler(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here, because this file is read before Django is set up.
    from tests.collections.shuffle.analyzer import scene

    settings.SHUFFLER_URL = scene.SHUFFLER_URL
    settings.SHUFFLER_KEY = scene.verification_key_of(scene.SHUFFLER_SIGNING_KEY)
    monkeypatch.setattr("publishing.publication.configured_partners", scene.partners)


@pytest.fixture
def signed_in(client: Client) -> Client:
    from tests.scenes import analyst

    client.force_login(analyst())
    return client
