"""Fleets whose devices have values: who counts, and what is repeated."""

import base64
import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from devices_sim.__main__ import main
from devices_sim.fleet import FleetError, FleetResult, run_fleet
from devices_sim.workloads.bucket import ListedBucket, ValueWorkload, listed
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.errors import FieldError
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust_models.curator import Curator
from panprivacy.trust_models.members import RecipeVerificationError
from tests.devices_sim.attester import MemoryAttester
from tests.devices_sim.server import VERIFICATION_KEY, listening
from tests.devices_sim.shuffler import SHUFFLER_KEY, MemoryShuffler, shuffler_recipe
from tests.panprivacy.privacy_pass.keys import seeded_key
from tests.tokens import ATTESTER_URL, ISSUER_KEY


def workload(*values: str) -> ValueWorkload:
    return ValueWorkload(listed((f"device-{number}", value) for number, value in enumerate(values)))


def run(server: MemoryShuffler, values: ValueWorkload, **options: object) -> FleetResult:
    members = {
        "served": server.served,
        "verification_key": VERIFICATION_KEY,
        "partner_key": SHUFFLER_KEY,
        "workload": values,
        "transport": server.transport,
    }
    return run_fleet(**(members | options))


def test_run_fleet_of_values_sends_those_of_every_device():
    server = MemoryShuffler(cohort_size=4)
    result = run(server, workload("0", "1", "1", "3"))
    assert (result.devices, result.sampled, result.accepted) == (4, 4, 4)
    assert result.rejected == Counter()
    assert result.devices_by_answer == result.accepted_by_answer == Counter({"0": 1, "1": 2, "3": 1})
    mechanism = server.recipe.calibrated_statistic
    assert sum(server.total()) == 4 * mechanism.most_messages


def test_run_fleet_of_values_tells_no_progress_twice():
    told: list[tuple[int, int]] = []
    # Each user's messages are one request: nothing is left to be sent after the last device.
    run(
        MemoryShuffler(),
        workload("0", "1", "1"),
        progress=lambda so_far: told.append((so_far.devices, so_far.accepted)),
    )
    assert told == [(3, 3)]


def test_run_fleet_of_more_values_than_the_shuffler_mixes_tells_those_that_count():
    server = MemoryShuffler(cohort_size=3)
    result = run(server, workload("0", "1", "1", "3", "2"))
    assert (result.devices, result.accepted, result.rejected) == (5, 3, Counter(batch_full=2))
    assert result.accepted_by_answer == Counter({"0": 1, "1": 2})
    assert len(server.users) == 3


def with_tokens() -> tuple[MemoryShuffler, MemoryAttester]:
    server = MemoryShuffler(cohort_size=3, tokens=True)
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    server.beside = {ATTESTER_URL: attester}
    return server, attester


def test_run_fleet_whose_recipe_closes_once_it_is_full_counts_those_without_token_as_late():
    """The shuffler's site may release, and tell the issuer so, while the last devices ask."""
    server, attester = with_tokens()
    attester.is_open = lambda: len(server.users) < 3
    key = ISSUER_KEY.public_key().public_bytes_raw()
    result = run(server, workload("0", "1", "1", "3", "2"), issuer_key=key)
    assert (result.devices, result.sampled, result.accepted) == (5, 5, 3)
    assert result.rejected == Counter(batch_full=2)
    assert result.devices_by_answer.total() == 5
    assert len(attester.issued[server.recipe.identifier]) == 3


def test_run_fleet_of_values_with_the_same_seed_sends_the_same_messages():
    servers = [MemoryShuffler() for _ in range(3)]
    for server, seed in zip(servers, (7, 7, 8), strict=True):
        run(server, workload("0", "1", "1"), seed=seed)
    assert servers[0].users == servers[1].users
    assert set(servers[0].users).isdisjoint(servers[2].users)


def test_run_fleet_of_values_takes_no_steps_whether_eager_or_not():
    lazy, eager = MemoryShuffler(), MemoryShuffler()
    run(lazy, workload("0", "1", "1"), seed=7)
    run(eager, workload("0", "1", "1"), seed=7, eager=True)
    assert lazy.users == eager.users


@pytest.mark.long  # in short with events: test_fleet.py
@pytest.mark.processes
def test_run_fleet_of_values_in_two_processes_sends_the_same_messages():
    values = ValueWorkload((ListedBucket((("a", "0"), ("b", "1"))), ListedBucket((("c", "1"),))))
    servers = [MemoryShuffler() for _ in range(2)]
    run(servers[0], values, seed=7)
    with listening(servers[1].shuffler) as address:
        # Another address makes another recipe, but the messages depend on the seed and the name alone.
        servers[1].recipe = shuffler_recipe(shuffler_url=f"{address}/shuffler")
        result = run(servers[1], values, seed=7, transport=address, processes=2)
    assert result.accepted_by_answer == Counter({"0": 1, "1": 2})
    assert servers[0].users == servers[1].users


def test_run_fleet_of_the_wrong_kind_of_workload_is_refused(make_server):
    with pytest.raises(FieldError, match="steps: of the workload must be at most the recipe's 0, not 4"):
        run(MemoryShuffler(), bernoulli(devices=1, steps=4, probability=0.5, seed=1))
    server = make_server()
    with pytest.raises(
        FieldError, match="trust: must be one under which devices have values, not single_server"
    ):
        run_fleet(
            served=server.served,
            verification_key=VERIFICATION_KEY,
            workload=workload("1"),
            transport=server.transport,
        )
    assert server.reports == {}


def test_run_fleet_of_values_without_the_shufflers_key_is_refused():
    server = MemoryShuffler()
    with pytest.raises(RecipeVerificationError, match="shuffler"):
        run(server, workload("1"), partner_key=None)
    assert server.users == {}


def test_run_fleet_whose_shuffler_does_not_answer_is_one_error():
    server = MemoryShuffler()
    server.lost = 1
    with pytest.raises(FleetError, match="503"):
        run(server, workload("1"))


@pytest.mark.processes
def test_main_fleet_takes_the_shufflers_key(tmp_path, capsys):
    server, file = MemoryShuffler(), tmp_path / "values.csv"
    file.write_text("device,value\na,0\nb,1\nc,1\n")
    with listening(server.site) as url, listening(server.shuffler) as address:
        server.recipe = shuffler_recipe(shuffler_url=f"{address}/shuffler")
        key, shuffler_key = (base64.b64encode(one).decode() for one in (VERIFICATION_KEY, SHUFFLER_KEY))
        arguments = ["fleet", "--server", url, "--recipe", server.recipe.identifier, "--values", str(file)]
        arguments += ["--verification-key", key, "--processes", "1"]
        assert main(arguments) != 0
        assert main([*arguments, "--shuffler-key", shuffler_key]) == 0
    assert json.loads(capsys.readouterr().out)["reports"]["accepted"] == 3


def test_devices_with_values_take_no_part_in_a_recipe_of_items():
    draft = RecipeDraft.from_mapping(
        {
            "name": "Test",
            "question": "How many?",
            "statistic": "density",
            "epsilon": 0.5,
            "universe_size": 100,
            "table_size": 10,
        }
    )
    recipe = draft.publish(Curator(sample_digest=bytes(32)), datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(FieldError, match="trust: must be one under which devices have values, not curator"):
        workload("1").require_fits(recipe)
