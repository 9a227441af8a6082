"""An installation that earlier code left half done is finished by this code, with the same results.

Its database, secrets and stream keys are those of commit b0f47a4, and so are the tasks that wait in its
queues under their old names; installation_before/README.md says how they were made. What comes out must be
what b0f47a4 itself comes to.

That tasks and migrations are still known takes a moment; to finish it all is `long`.
"""

import base64
import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db.migrations.loader import MigrationLoader

from panapp.celery import celery_application
from tests.installation_before.process import PORTS

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "installation_before" / "data"
LEFT = json.loads((DATA / "left.json").read_text())
NOW = datetime.fromisoformat(LEFT["made"]) + timedelta(minutes=8)
ROLES = tuple(PORTS)

TASKS = {
    "aggregation.tasks.process_chunk",
    "analyzer.tasks.advance_intakes",
    "analyzer.tasks.drive_intake",
    "dap.tasks.truncate_log",
    "leader.tasks.advance_tasks",
    "leader.tasks.call_off_registrations",
    "leader.tasks.drive_aggregation_job",
    "leader.tasks.drive_collection_job",
    "leader.tasks.drive_farewell",
    "planner.tasks.compute_plan",
    "releases.tasks.advance_collections",
    "streams.tasks.erase_old_keys",
}
"""All that b0f47a4 has."""

RELEASED = {
    "released": (15, [0.3333333333333333]),
    "count": (17, [11.78258821374833]),
    "histogram": (12, [3.373929429001337, 2.060894143502006, 3.373929429001337, 0.7478588580026748]),
    "stream": (None, [8.799999999999997]),
    "shuffler": (10, [0.8360465862613468]),
}
"""Recipe → reports and estimate, as b0f47a4 releases them."""

SPENT = 4.28875662925288
"""By the population `pilots`: ε at its δ of 1e-4, as b0f47a4 adds it up."""

EMPTY = {
    "leader": (
        "aggregation_chunk",
        "aggregation_subaggregate",
        "leader_aggregationjob",
        "leader_farewell",
        "leader_uploads",
        "dap_task WHERE state <> 'ended'",
        "analyzer_intake WHERE NOT is_deleted_there",
        "recipes_recipekey",
        "reports_reportnonce",
        "reports_storedreports",
        "streams_itembatch",
        "streams_stream",
    ),
    "helper": ("dap_aggregatedreport", "dap_task WHERE state <> 'ended'"),
    "shuffler": ("shuffler_part", "shuffler_submission", "shuffler_batch WHERE state <> 'ended'"),
}
"""Role → tables, or rows of one, of which nothing is left at the end."""


def test_every_task_has_the_name_under_which_it_was_queued_and_scheduled() -> None:
    celery_application.loader.import_default_modules()
    assert set(celery_application.tasks) >= TASKS


@pytest.mark.parametrize("role", ROLES)
def test_every_migration_that_was_applied_is_known(role: str) -> None:
    with closing(_database(role, ":memory:")) as database:
        applied = set(database.execute("SELECT app, name FROM django_migrations"))
    assert applied
    assert applied <= set(MigrationLoader(None).disk_migrations)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folders, first as they were left."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    shutil.copytree(DATA, folder)
    for role in ROLES:
        _database(role, str(folder / role / "panapp.sqlite3")).close()
    return folder


@pytest.fixture(scope="module")
def finished(folder: Path) -> dict[str, Any]:
    """What `installation_before.finish` tells, having finished it."""
    arguments = (str(DATA / "left.json"), NOW.isoformat())
    site = _started("finish", *arguments, role="leader", folder=folder, stdin=subprocess.PIPE)
    with site, _partner("helper", folder) as helper, _partner("shuffler", folder) as shuffler:
        told, _ = site.communicate(f"{helper} {shuffler}\n")
    assert site.returncode == 0
    answer: dict[str, Any] = json.loads(told)
    return answer


@pytest.mark.long
def test_every_recipe_is_released_as_before(finished: dict[str, Any]) -> None:
    results = finished["results"]
    # Its simulated reports are within the margin that two servers draw, or a little beyond it.
    two_servers = results.pop("two servers")
    assert two_servers["outcome"] == "released" or "too few valid reports" in two_servers["reason"]
    released = {name: result for name, result in results.items() if result["outcome"] == "released"}
    assert set(results) - set(released) == {"withheld"}
    assert set(released) == set(RELEASED)
    for name, (reports, estimate) in RELEASED.items():
        assert released[name]["reports"] == reports
        assert released[name]["estimate"] == pytest.approx(estimate, rel=1e-9)
    # Another version computed it, as closely from above.
    assert finished["book"]["spent"] == pytest.approx(SPENT, rel=2e-3)


@pytest.mark.long
def test_what_was_sent_before_counts_once(finished: dict[str, Any]) -> None:
    assert finished["answers"] == {"the same report": 409, "the same items": 200, "other items": 200}
    assert finished["results"]["count"]["rejected"] == {"duplicate_nonce": 1}


@pytest.mark.long
def test_nothing_is_kept_of_what_is_finished(finished: dict[str, Any], folder: Path) -> None:
    for role, tables in EMPTY.items():
        with closing(sqlite3.connect(folder / role / "panapp.sqlite3")) as database:
            left = {
                table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables
            }
        assert left == dict.fromkeys(tables, 0)
    assert not any((folder / "leader" / "stream-keys").iterdir())


@pytest.mark.long
def test_the_log_holds_every_old_entry_and_its_hashes_hold(finished: dict[str, Any]) -> None:
    log = sorted(finished["log"], key=lambda entry: entry["index"])
    with closing(_database("leader", ":memory:")) as database:
        before = database.execute('SELECT "index", entry_hash FROM audit_entry ORDER BY "index"').fetchall()
    assert [(entry["index"], entry["entry_hash"]) for entry in log[: len(before)]] == before
    assert len(log) > len(before)
    previous = "0" * 64
    for number, entry in enumerate(log):
        hashed = {name: value for name, value in entry.items() if name != "entry_hash"}
        if number < len(before):
            assert entry["previous_hash"] == previous
        else:
            # The tree has taken the chain's place.
            assert hashed.pop("previous_hash") == ""
        assert hashlib.sha256(rfc8785.dumps(hashed)).hexdigest() == entry["entry_hash"]
        previous = entry["entry_hash"]


@pytest.mark.long
def test_the_old_chain_is_the_beginning_of_the_public_log_and_all_of_it_holds(
    finished: dict[str, Any],
) -> None:
    """Results of before are signed and entered once; the log vouches for all recipes and results."""
    log = sorted(finished["log"], key=lambda entry: entry["index"])
    assert finished["verified"] == {
        "size": len(log),
        "commitments": [entry["entry_hash"] for entry in log],
    }
    recorded = [entry["subject"] for entry in log if entry["action"] == "result_recorded"]
    assert LEFT["recipes"]["released"] in recorded
    assert len(recorded) == len(set(recorded))


@pytest.mark.long
def test_the_signatures_of_all_recipes_hold(finished: dict[str, Any]) -> None:
    keys = {
        role: Ed25519PublicKey.from_public_bytes(base64.b64decode(key)) for role, key in LEFT["keys"].items()
    }
    for name, identifier in LEFT["recipes"].items():
        served = finished["recipes"][name]
        document = rfc8785.dumps(served["document"])
        assert hashlib.sha256(document).hexdigest() == served["id"] == identifier
        signed = served["document"]["format"].encode() + b"\n" + document
        keys["leader"].verify(base64.b64decode(served["signature"]), signed)
        for role in ("helper", "shuffler"):
            signature = served[f"{role}_signature"]
            assert (signature is not None) == (role in served["document"])
            if signature is not None:
                keys[role].verify(base64.b64decode(signature), signed)


@pytest.mark.long
def test_every_page_answers(finished: dict[str, Any]) -> None:
    assert set(finished["pages"].values()) == {200}


def _database(role: str, path: str) -> sqlite3.Connection:
    """The database of a role as it was left."""
    database = sqlite3.connect(path)
    database.executescript(gzip.decompress((DATA / role / "panapp.sql.gz").read_bytes()).decode())
    return database


def _started(module: str, *arguments: str, role: str, folder: Path, **pipes: Any) -> subprocess.Popen[str]:
    """A process of one role, in an environment of its own: nothing of the tests' settings or services."""
    urls, keys = ({name: f"{value}" for name, value in LEFT[what].items()} for what in ("urls", "keys"))
    told = {
        "leader": {
            **{f"PANAPP_{name.upper()}_URL": url for name, url in urls.items()},
            **{f"PANAPP_{name.upper()}_KEY": keys[name] for name in ("helper", "shuffler")},
        },
        "helper": {"PANAPP_HELPER_URL": urls["helper"], "PANAPP_LEADER_KEY": keys["leader"]},
        "shuffler": {"PANAPP_SHUFFLER_URL": urls["shuffler"], "PANAPP_ANALYZER_KEY": keys["leader"]},
    }
    ours = ("PANAPP_", "DJANGO_", "DATABASE_URL", "CELERY_")
    return subprocess.Popen(
        (sys.executable, "-m", f"tests.installation_before.{module}", *arguments),
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
            "PANAPP_ROLE": role,
            "PANAPP_DATA_DIR": str(folder / role),
            **told[role],
        },
        stdout=subprocess.PIPE,
        text=True,
        **pipes,
    )


@contextmanager
def _partner(role: str, folder: Path) -> Iterator[int]:
    """A running partner; the port on which it listens."""
    with _started("process", NOW.isoformat(), "0", role=role, folder=folder) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
