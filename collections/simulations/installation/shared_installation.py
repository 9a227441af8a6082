"""One installation at a time runs on a data directory. Commands that need servers start it, wait for their
turn, or use the one that runs.

Two would have two brokers and one database: workers would wait for tasks that were sent to the others, and
partners would be set up twice at once.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from panprivacy.protocols.transparency.policy import Policy
from simulations.installation.interrupts import interrupts_remembered
from simulations.installation.partners import KINDS, log_policy_text, paired
from simulations.installation.ports import HOST
from simulations.installation.services import ServiceError, Services, Warn, running_services
from storage.database import require_migrated_database
from web.probe import answers

LOCK = "installation.lock"
"""File in the data directory. The process that runs the installation holds a lock, released however the
process ends, and writes its identity there."""

WAIT_SECONDS = 0.2
SITE = "site"


@dataclass(frozen=True)
class Holder:
    """What runs the installation.

    Attributes:
        command: its name, such as `manage.py demo`.
        process: its identifier.
        database: which one it uses, without its password.
        ports: role → port of the site and its partners, once others may use them; else empty.
    """

    command: str
    process: int
    database: str
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.ports[SITE]}"

    def __str__(self) -> str:
        return f"`{self.command}` (process {self.process})"


@contextmanager
def shared_installation(
    *, partners: Collection[str], warn: Warn, lasts: bool = False, **options: Any
) -> Iterator[Services]:
    """The running installation of this data directory, with a database that is up to date.

    If none runs, it is started, and ended in the end. One that lasts is used. Any other is waited for,
    because it ends with the command that started it.

    Args:
        partners: roles that must run too.
        warn: takes a line that says which servers are used, and a sentence for each process that died.
        lasts: whether it goes on until the operator ends it: others may use it, so it has every partner.
        options: of `running_services`; without effect if one is used that runs.

    Raises:
        ServiceError: it did not start. Or one runs that lasts, and `lasts` or the database asks for another.
        CommandError: migrations are missing (`require_migrated_database`).
    """
    with _lock_file() as file:
        running = _wait(file, warn)
        if running is None:
            ours = Holder(" ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]), os.getpid(), _database())
            _write(file, ours)
            require_migrated_database()
            beside = {role: settings.DATA_DIR / role for role in partners}
            warn(f"starting its own servers, with the data in {settings.DATA_DIR}")
            with running_services(partners=beside, warn=warn, **options) as services:
                if lasts:
                    _write(file, replace(ours, ports=_ports(services)))
                yield services
            return
        if lasts or running.database != _database():
            raise ServiceError(
                f"{running} runs on {settings.DATA_DIR}{'' if lasts else ' with another database'}; "
                "end it first, or name another data directory with PANAPP_DATA_DIR"
            )
        warn(f"using the servers of {running} at {running.base_url}")
        with interrupts_remembered() as interrupted:
            yield _services_of(running, file, interrupted)


def _lock_file() -> TextIO:
    """The file that is locked; ServiceError if the data directory cannot be written."""
    try:
        settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (settings.DATA_DIR / LOCK).open("a+")
    except OSError as error:
        raise ServiceError(
            f"the data directory {settings.DATA_DIR} cannot be written ({error.strerror}); "
            "name another one with PANAPP_DATA_DIR"
        ) from None


def _wait(file: TextIO, warn: Warn) -> Holder | None:
    """The lasting holder of the lock; None once the lock is ours."""
    told = None
    while not _lock(file, fcntl.LOCK_EX):
        running = _read(file)
        # The text of a killed process stays until the next one has written its own.
        if running and running.ports and answers(f"{running.base_url}/health/live"):
            return running
        if running and running != told:
            warn(f"waiting for {running}, which runs on {settings.DATA_DIR}")
            told = running
        time.sleep(WAIT_SECONDS)
    return None


def _lock(file: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(file: TextIO) -> Holder | None:
    """The present text, unless it is just being written."""
    file.seek(0)
    try:
        return Holder(**json.load(file))
    except (ValueError, TypeError):  # half written, or of another version
        return None


def _write(file: TextIO, holder: Holder) -> None:
    file.truncate(0)
    file.write(json.dumps(asdict(holder)))
    file.flush()


def _database() -> str:
    values = connection.settings_dict
    return f"{values['HOST']}:{values['PORT']}/{values['NAME']}"


def _ports(services: Services) -> dict[str, int]:
    return {
        SITE: urlsplit(services.base_url).port or 0,
        **{role: pairing.port for role, pairing in services.pairings.items()},
    }


def _services_of(running: Holder, file: TextIO, interrupted: Callable[[], object]) -> Services:
    """Those of another process. Its beat makes workers check for due work."""
    partners = {role: port for role, port in running.ports.items() if role != SITE}
    pairings = {
        role: paired(KINDS[role], site_port=running.ports[SITE], port=port, data=settings.DATA_DIR / role)
        for role, port in partners.items()
    }
    policy = settings.LOG_POLICY

    def require_running() -> None:
        interrupted()
        if _lock(file, fcntl.LOCK_SH) or _read(file) != running:
            raise ServiceError(f"{running} has ended, whose servers were used")

    return Services(
        running.base_url,
        None,
        pairings,
        policy or Policy.parse(log_policy_text(pairings.values()).encode()),
        interrupted=require_running,
    )
