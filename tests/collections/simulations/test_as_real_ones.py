"""A simulation's result comes about as that of real devices does: by the same draws, numbers and words."""

from typing import Any

import pytest
from django.utils import timezone

from dap.helper.status import tasks_status
from dap.leader.models import CountNoise
from dap.models import Side
from panprivacy.accounting import noisy_count
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.exports import release_document
from results.models import Release
from results.operations import result_release
from results.servers import servers_of
from results.trust_models import collection_model_of
from tests.clock import time_is
from tests.collections.publishing import scene
from tests.collections.publishing.scene import sealed_report, settle, two_server_recipe, upload
from tests.scenes import finished_recipe

pytestmark = pytest.mark.django_db

OWN = ("id", "recipe", "simulation", "signature")
"""Members of a result that are of one recipe alone, and of what its document says."""


@pytest.fixture(autouse=True)
def _leader(settings: Any) -> None:
    settings.LEADER_URL = scene.LEADER_URL
    settings.HELPER_URL = scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which draws two servers make, and of which cohort size. The noise is 3, the margin 4."""
    made: list[tuple[str, int]] = []

    def drawing(name: str, drawn: int) -> None:
        def draw(cohort_size: int, source: object) -> int:
            made.append((name, cohort_size))
            return drawn

        monkeypatch.setattr(noisy_count, name, draw)

    drawing("draw", 3)
    drawing("draw_margin", 4)
    return made


def opened(*, good: int, bad: int = 0, simulation: bool = True, **changes: Any) -> Recipe:
    recipe = two_server_recipe(simulation=simulation, **changes)
    reports = [sealed_report(recipe, [1]) for _ in range(good)]
    reports += [sealed_report(recipe, [1], other_helper_part=True) for _ in range(bad)]
    assert upload(recipe, reports) == []
    return recipe


def finished(recipe: Recipe) -> Release:
    closed = recipe_close(recipe=recipe, actor=None)
    settle()
    release = result_release(recipe=closed)
    assert release is not None
    return release


def shown_of(release: Release) -> dict[str, Any]:
    """Its document without what is of one recipe alone."""
    document = {name: value for name, value in release_document(release, None).items() if name not in OWN}
    document["servers"] = [{**server, "signature": None} for server in document["servers"]]
    return document


@pytest.mark.parametrize(
    ("good", "outcome"), [(8, "withheld"), (9, "released")], ids=["within the margin", "beyond it"]
)
def test_two_servers_draw_and_show_the_same_simulated_or_real(
    monkeypatch: pytest.MonkeyPatch, draws: list[tuple[str, int]], good: int, outcome: str
) -> None:
    now = timezone.now().replace(microsecond=0)
    time_is(monkeypatch, lambda: now)
    shown, live, made = [], [], []
    for simulation in (False, True):
        recipe = opened(good=good, bad=3, simulation=simulation)
        live.append(
            [server.rounded(5) for server in servers_of(collection_model_of(recipe).progress(recipe))]
        )
        release = finished(recipe)
        shown.append(shown_of(release))
        assert release.outcome == outcome
        made.append([*draws])
        draws.clear()
    assert shown[0] == shown[1]
    assert live[0] == live[1]
    assert made[0] == made[1]
    assert set(made[1]) == {("draw", 5), ("draw_margin", 5)}


def test_simulation_publishes_its_noisy_number_beyond_the_margin(draws: list[tuple[str, int]]) -> None:
    release = finished(opened(good=9))
    assert release.reports == 9 + 3
    assert [server["counted"] for server in release.servers] == [12, 12]
    assert all(server["signature"] for server in release.servers), "the helper signs what noise explains"
    assert "noise of the number of reports" in release.standard_error_note
    within = finished(opened(good=25, cohort_size=22))
    assert within.outcome == "withheld"
    assert within.reason == "too few valid reports for the cohort size of 22 (about 20 of 22)"
    assert release_document(release, None)["share_interval"] is None


def test_simulations_draw_noise_and_margin_of_the_cohort_size() -> None:
    """At a cohort of a million noise is 0 with probability 1e-3, and a margin with 1e-6: one of three draws
    of each is not, but with probability 1e-9."""
    for _ in range(3):
        recipe = two_server_recipe(simulation=True, cohort_size=1_000_000)
        recipe_close(recipe=recipe, actor=None)
    assert any(CountNoise.objects.values_list("noise", flat=True))
    assert any(CountNoise.objects.values_list("margin", flat=True))


def test_helper_tells_of_a_simulated_task_what_it_tells_of_a_real_one(draws: list[tuple[str, int]]) -> None:
    told = []
    for simulation in (False, True):
        recipe = opened(good=2, bad=20, simulation=simulation)
        settle()
        task = scene.task(recipe, Side.HELPER)
        assert task is not None
        (status,) = tasks_status([task])
        told.append(status.keys())
    assert told[0] == told[1]
    assert not {"reports", "rejections"} & told[1]


def test_one_server_releases_the_same_simulated_or_real(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now().replace(microsecond=0)
    time_is(monkeypatch, lambda: now)
    shown = []
    for simulation in (False, True):
        recipe = finished_recipe([[1], [0], [1], [1], [0], [1]], simulation=simulation)
        shown.append(shown_of(Release.objects.get(recipe=recipe)))
    assert shown[0] == shown[1]
    assert shown[1]["reports"] == 6
