"""One running installation with every role beside: recipes whose reports need a token, through a relay.

Long, because twelve processes start; what each role does is tried in one process in its own folder. And the
commands of the docs that collect, for which it is as if they had started it.
"""

import importlib
import json
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from devices_sim.__main__ import main
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import EventWorkload, ValueWorkload, Workload, listed
from log.public_log.tree_growth import integrate
from panprivacy.formats import base64_text
from panprivacy.recipe.draft import RecipeDraft
from publishing.publication import recipe_close, recipe_publish_file
from reports.models import ReportNonce
from simulations.collect import series_simulation, steps
from simulations.collect.collection import admitting_beside, wait_until_heard
from simulations.installation import shared_installation as starting
from simulations.installation.partners import KINDS, RelayPairing
from simulations.installation.services import Services
from storage.signing_key import verification_key
from tests.factories import recipe_members
from tests.panapp.scene import SHUFFLE_HISTOGRAM, shuffled_members
from tests.panapp.test_roles import APPS, migrated_apps
from tests.panprivacy.recipe.targeting.results import members_of
from tests.processes import collect, services_of_a_module, without_witnesses
from tests.target_scene import declare, file_of
from tests.test_readme import COLLECTING, ROOT
from tokens.admission.selectors import issued_of

DEVICES = 130
EVENTS = {"steps": 3, "cohort_size": 120, "epsilon": 4.0}

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.processes]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside")


@pytest.fixture(scope="module")
def services(django_db_setup: None, django_db_blocker: Any, data: Path) -> Iterator[Services]:
    with django_db_blocker.unblock():
        partners = {role: data / role for role in KINDS}
        with services_of_a_module(partners=partners, environment=without_witnesses(data)) as services:
            yield services


RECIPES = {
    "single_server": recipe_members(**EVENTS),
    # The margin is at most 32: with 122 reports, and so with 130, there surely is a result.
    "two_server": recipe_members(**{**EVENTS, "cohort_size": 90}, trust="two_server"),
    "shuffler": shuffled_members(SHUFFLE_HISTOGRAM),
}


def workload(members: dict[str, Any]) -> Workload[Any]:
    """So many devices that whether there are enough sampled ones is no question. A shuffler takes no more
    users than the cohort has, and the recipe may close before others have asked for their tokens."""
    if RecipeDraft.from_mapping(members).trust == "shuffler":
        return ValueWorkload(listed((f"d{n}", str(n % 3)) for n in range(SHUFFLE_HISTOGRAM["cohort_size"])))
    return EventWorkload(3, listed((f"d{n}", {1} if n % 3 else set()) for n in range(DEVICES)))


@pytest.mark.parametrize("role", APPS)
def test_each_partner_has_the_tables_of_its_role_alone(services: Services, data: Path, role: str) -> None:
    assert migrated_apps(data / role / "panapp.sqlite3") == APPS[role]


@pytest.mark.parametrize("trust", RECIPES)
def test_collect_with_tokens_through_a_relay_issues_one_per_device(
    services: Services, data: Path, trust: str
) -> None:
    """The attester has the devices and no recipe, and the issuer the reverse."""
    members = {**RECIPES[trust], "admission": "token", "relay": True}
    result = collect(services, members, workload(members)).as_dict()
    devices = result["devices"]
    assert result["admission"] == {"issued": devices, "accepted": devices, "rejected": {}}
    assert result["reports"]["accepted"] == devices
    assert (result["released"], result["reason"]) == (True, None)
    contents = {role: everything(data / role) for role in ("attester", "issuer")}
    assert result["recipe"] in contents["issuer"]
    assert result["recipe"] not in contents["attester"]


def test_rare_categories_are_sent_by_those_that_count_alone(services: Services) -> None:
    """Through the relay and both servers. Devices count with 0.23, or with 0.46: fewer than 22 of 130 do with
    a probability below 1e-7; with so many there surely is a result, as the margin is at most 12. A bit is
    flipped with 2.5e-3, so that an estimate is off by more than 7 standard errors with less than 1e-8."""
    members = recipe_members(
        statistic="rare_categories",
        trust="two_server",
        k=3,
        epsilon=6.0,
        delta=1e-4,
        cohort_size=10,
        steps=None,
        step_seconds=None,
        participation="relayed",
        devices=DEVICES,
        counted_devices=60,
        rare_share=0.5,
        admission="token",
        relay=True,
    )
    workload = ValueWorkload(listed((f"d{n}", str(n % 3)) for n in range(DEVICES)))
    result = collect(services, members, workload).as_dict()
    sent = result["reports"]["accepted"]
    assert 10 <= sent < DEVICES
    # Every device asks for a token, whether it counts or not: the issuer sees no category.
    assert result["admission"] == {"issued": DEVICES, "accepted": sent, "rejected": {}}
    assert (result["released"], result["truth"]) == (True, [44, 43, 43])
    for estimate, truth, error in zip(
        result["estimate"], result["truth"], result["standard_error"], strict=True
    ):
        assert abs(estimate - truth) <= 7 * max(error, 8)


LINUX = 80
COUNTED = {"event": "os", "labels": ["linux", "other"], "k": 2, "epsilon": 10.0, "sampling_rate": 1.0}
"""A bit is flipped with 5e-5: three or more of 260 are with a probability below 1e-6. With fewer, 43 devices
with Linux and 19 others are sure."""

ATTRIBUTES = {f"d{n}": {"os": "linux" if n < LINUX else "other"} for n in range(DEVICES)}


def test_a_target_takes_a_token_of_all_and_a_report_of_those_in_it(
    services: Services, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Resting on a count that the same devices made through the same servers."""
    declare("everyone", {"os": ["linux", "other"]})
    values = ((name, str(int(own["os"] != "linux"))) for name, own in ATTRIBUTES.items())
    members = members_of(**COUNTED, cohort_size=100, relay=True)
    count = collect(services, members, ValueWorkload(listed(values)))
    target, asked = ("os", "linux", count.recipe), EVENTS | {"cohort_size": 7, "smallest_target": 15}
    collected_with_a_target(services, file_of(target, **asked))
    # But for one time in 10¹², the device in the target is sampled.
    single = file_of(target, **asked | {"steps": 1, "sampling_rate": 1 - 1e-12})
    single_devices_look_the_same_but_for_the_report(services, single, data, tmp_path, capsys)


def collected_with_a_target(services: Services, members: dict[str, Any]) -> None:
    """Of 80 devices that take part with 1/2, fewer than 7 do with a probability below 1e-13."""
    attributes = FleetAttributes(of_device=ATTRIBUTES)
    result = collect(services, members, workload(members), attributes=attributes).as_dict()
    sent = result["reports"]["accepted"]
    assert (result["devices"], result["outside"]) == (DEVICES, DEVICES - LINUX)
    assert 7 <= sent == result["sampled"] <= LINUX
    assert result["admission"] == {"issued": DEVICES, "accepted": sent, "rejected": {}}
    # Of two in three of the devices, those in the target alone.
    assert (result["released"], result["truth"]) == (True, 53)


def single_devices_look_the_same_but_for_the_report(
    services: Services,
    members: dict[str, Any],
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command, with all that it checks: the log, the cited result, and each server's key."""
    admitting = admitting_beside(services.pairings)
    recipe = recipe_publish_file(members=members, actor=None, simulation=True, admitting=admitting)
    integrate()

    def device(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    sent = {}
    for own in ("linux", "other"):
        state, identity = (f"{tmp_path / name}-{own}" for name in ("state", "identity"))
        relay = services.pairings["relay"]
        assert isinstance(relay, RelayPairing)
        device(
            *("join", services.base_url, str(recipe.identifier), "--simulation", "--state", state),
            *("--verification-key", base64_text.encode(verification_key().public_bytes_raw())),
            *("--issuer-key", base64_text.encode(services.pairings["issuer"].key)),
            *("--relay", relay.relay_url, "--attributes", f"os={own}"),
            *("--log-policy", str(data / "log-policy"), "--log-state", f"{state}-log"),
        )
        device("identity", "--identity", identity)
        device("step", "--state", state, "--event")
        device("token", "--state", state, "--identity", identity)
        sent[own] = device("send", "--state", state)
    assert sent == {"linux": "report delivered (accepted)\n", "other": "not sampled: nothing to send\n"}
    assert ReportNonce.objects.filter(recipe=recipe).count() == 1
    recipe_close(recipe=recipe, actor=None)
    wait_until_heard(recipe, lambda _: None)
    assert issued_of(recipe) == 2


@pytest.mark.parametrize("command", COLLECTING)
def test_command_of_the_docs_collects(
    services: Services, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands there, but for the services that it starts: it is given those partners that it names."""

    def running(partners: Iterable[str], **_: object) -> AbstractContextManager[Services]:
        named = copy(services)
        named.pairings = {role: services.pairings[role] for role in partners}
        return nullcontext(named)

    for module in (steps, series_simulation, starting):
        monkeypatch.setattr(module, "shared_installation", running)
    monkeypatch.chdir(ROOT)
    _, script, name, *options = shlex.split(command)
    if script == "-m":
        importlib.import_module(name).main()
        assert "at 95% confidence" in capsys.readouterr().out
        return
    call_command(name, *options)
    printed = json.loads(capsys.readouterr().out)
    for result in printed if name == "series" else [printed]:
        assert result["released"] is True


def everything(folder: Path) -> str:
    """All rows of a role's database, bytes as hexadecimal digits."""
    with closing(sqlite3.connect(folder / "panapp.sqlite3")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for name in tables for row in database.execute(f'SELECT * FROM "{name}"')]
    return "\n".join(
        " ".join(value.hex() if isinstance(value, bytes) else str(value) for value in row) for row in rows
    )
