"""Numbers that a process remembers."""

from typing import Any

import pytest
import scipy
from django.core.cache import caches

from panprivacy.accounting.composition import _composed, _roughly_composed
from panprivacy.accounting.number_cache import epsilon_at, symmetric_loss_of
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.registry import EVENTS
from panprivacy.planning.plan import Plan
from panprivacy.planning.value_search import Values
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.events.segmented import SegmentsOfEvents
from panprivacy.statistics.trust_models import TRUST_MODELS
from tests.refusals import raising

COMPUTING = (
    *("aggregator_event", "local_guarantees", "expected_margin"),
    *("expected_standard_error", "expected_error_bound"),
)
"""Methods of statistics that no request calls."""


def another_process() -> None:
    """Forget what this process remembers."""
    for kept in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        kept.cache_clear()


def own_caches(settings: Any, *names: str) -> None:
    """Empty caches, of which no other process of the run sees anything."""
    memory = "django.core.cache.backends.locmem.LocMemCache"
    own = {name: {"BACKEND": memory, "LOCATION": f"{name} here"} for name in names}
    settings.CACHES = {**settings.CACHES, **own}
    for name in names:
        caches[name].clear()
    another_process()


def computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, this process remembers no number, and refuses to compute one."""
    another_process()
    caches["composed"].clear()
    refused = raising(AssertionError)
    for event in EVENTS.values():
        for name in ("epsilon", "delta", "delta_bound"):
            monkeypatch.setattr(event, name, refused)
    for statistic in STATISTICS.values():
        for name in COMPUTING:
            if hasattr(statistic, name):
                monkeypatch.setattr(statistic, name, refused)
        if statistic.parameters_class.derived_names():
            monkeypatch.setattr(statistic.parameters_class, "calibrated", refused)
    monkeypatch.setattr(SegmentsOfEvents, "expected", refused)
    monkeypatch.setattr(Dummies, "calibrated", refused)
    for servers in TRUST_MODELS.values():
        monkeypatch.setattr(servers, "release_probability", refused)
    monkeypatch.setattr(PrivacyFilter, "shares", refused)
    monkeypatch.setattr(Values, "nearest", refused)
    for name in ("minimize_scalar", "brentq"):
        monkeypatch.setattr(scipy.optimize, name, refused)


def part_of(plan: Plan) -> dict[str, Any]:
    """A plan as workers store it."""
    return {"plan": plan.as_dict(), "local_guarantees": []}
