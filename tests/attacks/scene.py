"""What is seen of a device and of a collection, and a PostgreSQL server whose files a test may read."""

import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.collections.pages.scene import TABS
from tests.page_text import page_text


def looks(recipe: Recipe, event_at: int | None, steps: int) -> list[Any]:
    """The device's one ciphertext after each step."""
    mechanism, key = recipe.published.calibrated_statistic, recipe.published.public_key
    source = secrets.SystemRandom()
    state = mechanism.start(key, source)
    seen = []
    for step in range(1, steps + 1):
        state = mechanism.step(key, state, step == event_at, step, source)
        seen.append(state[0])
    return seen


@contextmanager
def undone() -> Iterator[None]:
    """A world of its own: nothing of it stays."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# Drawn anew at every look or in every entry, from `secrets`.
_RANDOM = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|csrfmiddlewaretoken\" value=\"\w+|nonce=\"[^\"]+\"")


def everything_shown(recipe: Recipe, reader: User) -> dict[str, str]:
    """Every page and file that is about the recipe or about all, for nobody in particular and for `reader`,
    who may read the log. Where they stand the same, no reader can tell the difference."""
    addresses = [
        reverse("overview"),
        *(reverse(tab, args=[recipe.identifier]) for tab in TABS),
        reverse("recipe-progress", args=[recipe.identifier]),
        reverse("api-recipe", args=[recipe.identifier]),
        reverse("result-json", args=[recipe.identifier]),
        reverse("result-csv", args=[recipe.identifier]),
        reverse("populations"),
        reverse("population", args=["everyone"]),
        reverse("audit"),
        reverse("audit-export", args=["json"]),
        reverse("audit-export", args=["csv"]),
    ]
    gauges = [sample.split(" # ")[0] for sample in _text(Client().get("/metrics")).split("panapp_")]
    # Of the collections; how often pages were asked for depends on this function.
    seen = {"/metrics": "\n".join(sample for sample in gauges if not sample.startswith(("request", "clock")))}
    for who in (None, reader):
        client = Client()
        if who is not None:
            client.force_login(who)
        for address in addresses:
            seen[f"{address} as {who or 'nobody'}"] = _RANDOM.sub("…", _text(client.get(address)))
    return seen


def _text(answer: Any) -> str:
    if not answer.streaming:
        return f"{answer.status_code} {page_text(answer)}"
    return f"{answer.status_code} {answer.getvalue().decode()}"


ACCOUNT = "postgres"
"""Who runs it where the tests run as root, as whom PostgreSQL refuses to run."""


@dataclass(frozen=True)
class Cluster:
    """A running server.

    Attributes:
        data: its data directory.
        url: address of an empty database, as DATABASE_URL.
    """

    data: Path
    url: str


def why_not() -> str | None:
    """Why there can be none on this machine."""
    if _programs() is None:
        return "initdb and pg_ctl of PostgreSQL are not installed"
    if os.getuid() == 0 and ACCOUNT not in {entry.pw_name for entry in pwd.getpwall()}:
        return f"PostgreSQL does not run as root, and there is no account {ACCOUNT}"
    return None


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A new one, until the end."""
    programs = _programs()
    assert programs is not None
    # Not pytest's own directory: other accounts cannot reach it.
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    as_whom: dict[str, Any] = {"user": ACCOUNT} if os.getuid() == 0 else {}
    if as_whom:
        shutil.chown(folder, ACCOUNT)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "--pgdata", str(data), *arguments]
        said = folder / program
        # Into a file: the server inherits it, and a pipe would end with the server only.
        with said.open("w") as file:
            done = subprocess.run(command, cwd=folder, stdout=file, stderr=file, check=False, **as_whom)
        assert done.returncode == 0, said.read_text()

    try:
        run("initdb", "--username", "postgres", "--auth", "trust", "--no-sync", "--encoding", "UTF8")
        options = f"-k {folder} -c listen_addresses= -c logging_collector=on"
        run("pg_ctl", "--wait", "--silent", "--options", options, "start")
        try:
            yield Cluster(data, f"postgres://postgres@{quote(str(folder), safe='')}/postgres")
        finally:
            run("pg_ctl", "--wait", "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """The newest version's programs, where Debian and its kin put them, or on the path."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    folders = [*reversed(installed), *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)
