"""The commands `collect` and `stream`, with site and shuffler in the same process: no server starts."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.test.client import ClientHandler

from panprivacy.accounting.trust import Trust
from panprivacy.protocols.transparency.policy import Policy
from simulations.chunks import chunk_run, chunks_take
from simulations.installation.partners import log_policy_text
from simulations.selectors import simulations_running
from tests.collections.shuffle.analyzer import scene
from tests.panprivacy.device.in_process import InProcessTransport


def collected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, members: Mapping[str, Any], option: str, rows: str
) -> dict[str, Any]:
    """What `collect` prints of a recipe file and a file of devices; their coins are the same each time."""
    monkeypatch.setattr("simulations.collect.steps.shared_installation", _services)
    arguments = ("--seed", "7", "--eager", "--processes", "1")
    shuffler_key = scene.verification_key_of(scene.SHUFFLER_SIGNING_KEY)
    with override_settings(SHUFFLER_URL=scene.SHUFFLER_URL, SHUFFLER_KEY=shuffler_key):
        return _printed(folder, "collect", members, option, rows, *arguments)


def transport() -> InProcessTransport:
    """To this site, and from there to its shuffler."""
    return InProcessTransport(_site, others={scene.SHUFFLER_URL: _shuffler})


def _printed(
    folder: Path, command: str, members: Mapping[str, Any], option: str, rows: str, *arguments: str
) -> dict[str, Any]:
    recipe, devices, out = folder / "recipe.json", folder / f"{option}.csv", io.StringIO()
    recipe.write_text(json.dumps(dict(members)))
    devices.write_text(rows)
    call_command(command, str(recipe), f"--{option}", str(devices), "--json", *arguments, stdout=out)
    printed: dict[str, Any] = json.loads(out.getvalue())
    return printed


@contextmanager
def _services(**_: Any) -> Iterator[Any]:
    """In place of processes: a check of the workers lets them do what is due."""
    shuffler = SimpleNamespace(partner=lambda: scene.partners()[Trust.SHUFFLER])
    yield SimpleNamespace(
        pairings={"shuffler": shuffler},
        check=scene.settle,
        look=_devices_report,
        log_policy=Policy.parse(log_policy_text(()).encode()),
    )


def _devices_report(_: str) -> None:
    for simulation in simulations_running():
        for chunk in chunks_take(simulation=simulation):
            chunk_run(chunk=chunk, transport=transport())


def _site(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    # Unlike Django's own WSGI application, it leaves the test's connection to the database open.
    response = ClientHandler()(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def _shuffler(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    url = f"{scene.ORIGIN}{environ['PATH_INFO']}"
    headers = {"Content-Type": environ["CONTENT_TYPE"]}
    status, answered, body = scene.reached(
        environ["REQUEST_METHOD"], url, headers, environ["wsgi.input"].read()
    )
    start_response(f"{status} Status", list(answered.items()))
    return [body]
