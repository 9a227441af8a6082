"""Fleets whose devices have values: who counts, and what is repeated."""

import base64
import json
from collections import Counter

import pytest

from devices_sim.__main__ import main
from devices_sim.fleet import FleetResult, run_fleet
from devices_sim.workloads.bucket import ValueWorkload, listed
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.formats.errors import FieldError
from tests.panprivacy.device.attester import MemoryAttester
from tests.panprivacy.device.server import VERIFICATION_KEY, listening
from tests.panprivacy.device.shuffler import SHUFFLER_KEY, MemoryShuffler, shuffler_recipe
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
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


def test_run_fleet_of_more_values_than_are_mixed_tells_which_count():
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


def test_run_fleet_of_a_full_recipe_counts_those_without_token_as_late():
    """The shuffler's site may release, and notify the issuer, while the last devices ask."""
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
