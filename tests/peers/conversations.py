"""Talking to a program of others: it reads one JSON object per line, and writes one per line."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Peer = Callable[..., dict[str, Any]]
"""Has the other end carry out an operation, by its name and values; PeerRefusedError where it refuses."""


class PeerRefusedError(Exception):
    """The other end refuses what it was given, in its words."""


def base64_of(value: bytes) -> str:
    return base64.b64encode(value).decode()


@contextmanager
def talking(command: Sequence[str | Path], folder: Path) -> Iterator[Peer]:
    """The program of a command that runs in a folder."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        into, out = process.stdin, process.stdout
        assert into is not None
        assert out is not None

        def ask(operation: str, **given: Any) -> dict[str, Any]:
            into.write(json.dumps({"operation": operation, **given}) + "\n")
            into.flush()
            answered: dict[str, Any] = json.loads(out.readline())
            if "error" in answered:
                raise PeerRefusedError(answered["error"])
            return answered

        yield ask
        into.close()
