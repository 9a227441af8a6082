"""`demo`: three collections from real data, and accounts to look at them with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from panapp.management.commands.demo import reset_account
from releases.models import Release, SimulatedTruth
from tests.processes import database_url

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db(transaction=True)
@pytest.mark.processes
def test_demo_meets_the_truth_of_the_flight_data_and_runs_twice() -> None:
    environment = {**os.environ, "DATABASE_URL": database_url()}
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
    releases = {release.recipe.statistic: release for release in Release.objects.all()}
    truths = {truth.recipe.statistic: truth for truth in SimulatedTruth.objects.all()}
    assert set(releases) == set(truths) == {"count_nonzero", "histogram", "mean"}
    assert {truth.devices for truth in truths.values()} == {3_148}
    assert truths["count_nonzero"].values == [1_019]
    assert truths["mean"].values[0] == pytest.approx(0.5314, abs=5e-5)
    assert sum(truths["histogram"].values) == 3_148
    for statistic, release in releases.items():
        # Eight values, each beyond 6.5 standard errors with probability below 1e-10 (the errors are
        # sums of thousands of bounded terms, so normal tails are a fair guide): 1e-9 in all.
        for value, error, truth in zip(
            release.values, release.standard_errors, truths[statistic].values, strict=True
        ):
            assert abs(value - truth) < 6.5 * error


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
