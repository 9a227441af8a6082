"""How far a demo is, for the home page of the site that it runs: a file in the data directory."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

FILE = "demo.json"


@dataclass(frozen=True)
class DemoProgress:
    """What a demo has done so far.

    Attributes:
        process: the one that runs it.
        done: collections that have a result.
        collections: how many there are.
        seconds_left: about how long the others take.
    """

    process: int
    done: int
    collections: int
    seconds_left: int


def demo_progress_write(*, done: int, collections: int, seconds_left: float) -> None:
    """Say how far the demo of this process is."""
    progress = DemoProgress(os.getpid(), done, collections, max(5, 5 * round(seconds_left / 5)))
    # Renamed, so that it is never read half written.
    written = _path().with_suffix(".new")
    written.write_text(json.dumps(asdict(progress)))
    written.replace(_path())


def demo_progress_end() -> None:
    """All is done, or given up."""
    _path().unlink(missing_ok=True)


def demo_progress() -> DemoProgress | None:
    """How far the demo is; None if none is collecting."""
    with suppress(PermissionError):  # it runs, as another user
        try:
            progress = DemoProgress(**json.loads(_path().read_text()))
            os.kill(progress.process, 0)
        except (FileNotFoundError, ProcessLookupError):  # none, or it was killed
            return None
    return progress


def _path() -> Path:
    return settings.DATA_DIR / FILE
