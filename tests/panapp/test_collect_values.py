"""`collect` of values through a shuffler, with real processes; and what is refused before any starts."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from devices_sim.forecast import Forecast
from devices_sim.workloads import values_csv
from panapp.collection import CollectionResult, collection_run
from panapp.services import Services
from panprivacy.recipe import RecipeDraft
from recipes.models import Recipe
from tests.panapp.test_collect import MEMBERS
from tests.processes import helper_rows, services_on_test_database
from trust_models import trust_model_of

DISTINCT_ELEMENTS = {"statistic": "distinct_elements", "cohort_size": 20, "k": 4}
UNIFORMITY = {"statistic": "uniformity", "cohort_size": 60, "k": 2, "alpha": 0.5}
SHUFFLE_HISTOGRAM = {"statistic": "shuffle_histogram", "cohort_size": 120, "k": 3}


def members(statistic: dict[str, Any]) -> dict[str, Any]:
    """A recipe file with a weak promise, which takes few users and messages."""
    return {
        "name": "Models",
        "question": "Which models are in use?",
        "epsilon": 4.0,
        "delta": 0.01,
    } | statistic


def values_file(directory: Path, *values: object) -> Path:
    path = directory / "values.csv"
    path.write_text("device,value\n" + "".join(f"d{n},{value}\n" for n, value in enumerate(values)))
    return path


def collect(
    services: Services, statistic: dict[str, Any], path: Path, said: list[str] | None = None
) -> CollectionResult:
    draft = RecipeDraft.from_mapping(members(statistic))
    with values_csv(path, draft.mechanism().value_of) as workload:
        return collection_run(
            members=members(statistic),
            workload=workload,
            services=services,
            seed=7,
            eager=False,
            processes=1,
            actor=None,
            say=(lambda _: None) if said is None else said.append,
        )


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_collect_of_values_goes_from_devices_through_the_shuffler_to_a_release(tmp_path: Path) -> None:
    shuffler = tmp_path / "shuffler"
    with services_on_test_database(shuffler=shuffler) as services:
        # Two devices more than the shuffler mixes.
        even = collect(services, UNIFORMITY, values_file(tmp_path, *[0, 1] * 31)).as_dict()
        said: list[str] = []
        each = collect(services, SHUFFLE_HISTOGRAM, values_file(tmp_path, *[0, 0, 2] * 40), said).as_dict()

    # Those of 120 users, who send six each: what waits for the workers are not reports of anyone.
    waiting = [line for line in said if line.endswith(" waiting")]
    assert waiting
    assert all(line.endswith(" messages waiting") for line in waiting)

    assert set(even) == MEMBERS | {"details"}
    assert (even["devices"], even["sampled"], even["released"]) == (62, 62, True)
    assert even["reports"] == {"accepted": 60, "rejected": {"batch_full": 2}}
    assert {"verdict", "threshold", "calibrated_verdict", "calibrated_threshold"} <= set(even["details"])
    assert even["interval"] is None  # the test statistic of a verdict estimates nothing

    assert set(each) == MEMBERS | {"error_bound", "confidence", "details"}
    assert each["details"] == {"stray_messages": 0}
    assert each["reports"] == {"accepted": 120, "rejected": {}}
    assert each["truth"] == [80, 0, 40]
    for value, truth, bound in zip(each["estimate"], each["truth"], each["error_bound"], strict=True):
        assert abs(value - truth) <= bound  # the same each time: the seed decides

    assert {recipe.status for recipe in Recipe.objects.all()} == {"closed"}
    # A database of its own, in which nothing is left that anybody sent.
    apps = {app for (app,) in helper_rows(shuffler, "SELECT DISTINCT app FROM django_migrations")}
    assert {"audit", "shuffler"} <= apps
    assert "recipes" not in apps
    for table in ("shuffler_submission", "shuffler_submissionnonce", "shuffler_part"):
        assert helper_rows(shuffler, f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_interrupted_collect_is_withheld_and_the_shuffler_hears_of_it(tmp_path: Path) -> None:
    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    shuffler, path = tmp_path / "shuffler", values_file(tmp_path, *[0, 1, 2] * 20)
    draft = RecipeDraft.from_mapping(members(SHUFFLE_HISTOGRAM))
    forewarned: list[Forecast] = []
    with services_on_test_database(shuffler=shuffler) as services:
        with (
            values_csv(path, draft.mechanism().value_of) as workload,
            pytest.raises(KeyboardInterrupt),
        ):
            collection_run(
                members=members(SHUFFLE_HISTOGRAM),
                workload=workload,
                services=services,
                seed=7,
                eager=False,
                processes=1,
                actor=None,
                say=interrupted,
                forewarn=forewarned.append,
            )
        recipe = Recipe.objects.get()
        assert trust_model_of(recipe).partner_must_hear(recipe) is False
    assert [(forecast.users, forecast.messages) for forecast in forewarned] == [(60, 6)]
    assert (recipe.status, recipe.release.outcome) == ("closed", "withheld")
    assert recipe.release.reason == "the command that simulated it was interrupted"
    assert helper_rows(shuffler, "SELECT count(*) FROM shuffler_submission") == [(0,)]


def recipe_file(directory: Path, **changes: Any) -> Path:
    path = directory / "recipe.json"
    path.write_text(json.dumps(members(DISTINCT_ELEMENTS) | changes))
    return path


EVENTS = {"statistic": "count_nonzero", "steps": 3, "cohort_size": 2}


@pytest.mark.parametrize(
    ("recipe", "values", "message"),
    [
        ({}, (0, 1, 4), "value: line 4, column 2: must be a whole number from 0 to 3, not "),
        ({}, (), "device: the file must name at least one device"),
        ({"cohort_size": 1}, (0,), "cohort_size: must be "),
        (
            {"steps": 3},
            (0,),
            "steps: is not a field of a distinct_elements recipe; it has name, question, statistic, "
            "population, trust, encryption, opens_at, closes_at, epsilon, delta, cohort_size, k, hashed",
        ),
    ],
)
def test_collect_of_bad_values_exits_with_2_and_names_line_and_column(
    tmp_path: Path, recipe: dict[str, Any], values: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("collect", recipe_file(tmp_path, **recipe), values=values_file(tmp_path, *values))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("statistic", "given", "message"),
    [
        (
            {},
            (),
            "values: is missing: distinct_elements needs --values FILE.csv, with the header device,",
        ),
        ({}, ("events",), "events: is not for distinct_elements: its devices need --values FILE.csv"),
        ({}, ("events", "values"), "events: is not for distinct_elements"),
        (
            EVENTS,
            (),
            "events: is missing: count_nonzero needs --events FILE.csv, with the header device,",
        ),
        (EVENTS, ("values",), "values: is not for count_nonzero: its devices need --events FILE.csv"),
        (EVENTS, ("events", "values"), "values: is not for count_nonzero"),
    ],
)
def test_collect_takes_the_one_file_that_the_statistic_needs_and_says_which(
    tmp_path: Path, statistic: dict[str, Any], given: tuple[str, ...], message: str
) -> None:
    path = values_file(tmp_path, 0)
    with pytest.raises(CommandError) as refused:
        call_command("collect", recipe_file(tmp_path, **statistic), **dict.fromkeys(given, path))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


def test_collect_of_a_file_that_cannot_be_read_exits_with_2(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(CommandError, match=r"^values: .* is not a file that can be read$") as refused:
            call_command("collect", recipe_file(tmp_path), values=path)
        assert refused.value.returncode == 2
