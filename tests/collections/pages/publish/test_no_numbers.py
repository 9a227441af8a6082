"""Requests show numbers that workers computed, and compute none themselves."""

from collections.abc import Callable
from typing import Any

import pytest
import scipy
from django.core.cache import caches
from django.test import Client

from ledger.budget import Budget
from ledger.operations import population_create
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.registry import EVENTS
from panprivacy.planning.value_search import Values
from panprivacy.statistics.catalogue import STATISTICS
from tests.collections.pages.scene import draft_page, publish
from tests.collections.recipes.planner.scene import another_process, own_caches
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import draft_recipe, recipe_members
from tests.refusals import raising

pytestmark = pytest.mark.django_db

MEAN = {"statistic": "mean", "guarantee": "local", "k": 2, "cohort_size": 20}
"""Its noise is calibrated."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[str]:
    own_caches(settings, "composed")
    return workers_answer(monkeypatch, previews=True)


@pytest.fixture
def computes_nothing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, this process remembers no number, and refuses to compute one."""

    def refuse() -> None:
        another_process()
        caches["composed"].clear()
        refused = raising(AssertionError)
        for event in EVENTS.values():
            for name in ("epsilon", "delta", "delta_bound"):
                monkeypatch.setattr(event, name, refused)
        for statistic in STATISTICS.values():
            if statistic.parameters_class.derived_names():
                monkeypatch.setattr(statistic.parameters_class, "calibrated", refused)
        monkeypatch.setattr(PrivacyFilter, "shares", refused)
        monkeypatch.setattr(Values, "nearest", refused)
        for name in ("minimize_scalar", "brentq"):
            monkeypatch.setattr(scipy.optimize, name, refused)

    return refuse


def test_publishing_finds_all_numbers_computed(
    signed_in: Client, sent: list[str], computes_nothing: Callable[[], None]
) -> None:
    for name in ("pilots", "clinics"):
        population_create(name=name, description="", budget=Budget(epsilon=8.0, delta=1e-4), actor=None)
    draft = draft_recipe(**MEAN, population="pilots")
    series = recipe_members(**MEAN, population="clinics", every="day", rounds=2, steps=1)

    def series_published() -> int:
        answer = signed_in.post("/api/v1/series/", series, content_type="application/json")
        return int(answer.status_code)

    draft_page(signed_in, draft)
    assert series_published() == 503
    work(sent)
    computes_nothing()
    assert publish(signed_in, draft).status_code == 302
    draft.refresh_from_db()
    assert draft.published.calibrated_statistic.parameters.noise_scale > 0
    assert draft.guarantees.stated
    assert series_published() == 201
