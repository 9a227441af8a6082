"""`demo`: four collections from real data, one by two servers, and accounts to look at them with."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from panapp.management.commands.demo import Command, reset_account
from panapp.pairing import HelperPairing
from recipes.models import Recipe
from releases.models import Release, SimulatedTruth
from tests.processes import database_url, helper_rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db(transaction=True)
@pytest.mark.processes
def test_demo_meets_the_truth_of_the_flight_data_and_runs_twice(tmp_path: Path) -> None:
    data = tmp_path / "data"
    environment = {**os.environ, "DATABASE_URL": database_url(), "PANAPP_DATA_DIR": str(data)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "manage.py", "demo", "--no-serve"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    releases = {kind(release.recipe): release for release in Release.objects.all()}
    truths = {kind(truth.recipe): truth for truth in SimulatedTruth.objects.all()}
    single, two = "single_server", "two_server"
    counts = {("count_nonzero", single), ("count_nonzero", two)}
    assert set(releases) == set(truths) == {*counts, ("histogram", single), ("mean", single)}
    assert {truth.devices for truth in truths.values()} == {3_148}
    assert {tuple(truths[count].values) for count in counts} == {(1_019,)}
    assert truths["mean", single].values[0] == pytest.approx(0.5314, abs=5e-5)
    assert sum(truths["histogram", single].values) == 3_148
    for statistic, release in releases.items():
        # Nine values, each beyond 6.5 standard errors with probability below 1e-10 (the errors are
        # sums of thousands of bounded terms, so normal tails are a fair guide): 1e-9 in all.
        for value, error, truth in zip(
            release.values, release.standard_errors, truths[statistic].values, strict=True
        ):
            assert abs(value - truth) < 6.5 * error
    # The second run found what the first had made, on the helper too: one task, which has ended.
    rows = helper_rows(data / "helper", "SELECT state, outcome <> '' FROM dap_task")
    assert rows == [("ended", 1)]


def kind(recipe: Recipe) -> tuple[str, str]:
    return recipe.statistic, recipe.published.trust.value


def test_demo_tells_where_the_helper_is_and_with_which_settings_a_command_is_its_leader() -> None:
    pairing = HelperPairing(
        site_port=8000, site_key=bytes(32), key=bytes(range(32)), port=4321, data=Path("helper")
    )
    output = StringIO()
    Command(stdout=output).show_pairings([pairing])
    assert "http://127.0.0.1:4321/." in output.getvalue()
    (line,) = (line for line in output.getvalue().splitlines() if line.startswith("  export "))
    assert dict(word.split("=", 1) for word in line.split()[1:]) == pairing.site_variables()


@pytest.mark.django_db
def test_demo_accounts_get_a_fresh_password_and_only_their_own_rights() -> None:
    first, second = reset_account("analyst", "Analysts"), reset_account("analyst", "Analysts")
    assert first != second
    analyst = User.objects.get(username="analyst")
    assert analyst.check_password(second)
    assert analyst.has_perm("recipes.publish_recipe")
    assert not analyst.is_superuser
    reset_account("auditor", "Auditors")
    assert not User.objects.get(username="auditor").has_perm("recipes.publish_recipe")
