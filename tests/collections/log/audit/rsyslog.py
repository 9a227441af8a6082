"""rsyslog, as Debian has it (packages rsyslog and rsyslog-openssl): a receiver of syslog that is not ours."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

_PROGRAM = shutil.which("rsyslogd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needed = pytest.mark.skipif(_PROGRAM is None, reason="rsyslog is not installed")

_PARSED = (
    "%pri% %protocol-version% %hostname% %app-name% %procid% %msgid% %structured-data% "
    "%timereported:::date-rfc3339% %msg%"
)


@dataclass(frozen=True)
class Received:
    """A message as rsyslog parsed it."""

    pri: int
    version: int
    host: str
    app: str
    process: str
    message_id: str
    data: str
    at: str
    document: Any


@dataclass(frozen=True)
class Rsyslog:
    """A running receiver."""

    port: int
    written: Path

    def received(self, number: int) -> list[Received]:
        """All messages, once there are this many."""
        until = time.monotonic() + PATIENCE
        lines: list[str] = []
        while len(lines) < number and time.monotonic() < until:
            if self.written.exists():
                lines = self.written.read_text().splitlines()
            time.sleep(0.05)
        return [_read(line) for line in lines]


@contextmanager
def receiving(folder: Path, *, secured: bool) -> Iterator[Rsyslog]:
    """rsyslog on a free port of 127.0.0.1; with TLS by the certificate in this folder."""
    port, written = folder / "port", folder / "written"
    keys = {"CAFile": "certificate.pem", "CertFile": "certificate.pem", "KeyFile": "both.pem"}
    files = " ".join(f'defaultNetstreamDriver{key}="{folder / file}"' for key, file in keys.items())
    tls = ' streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon"' if secured else ""
    (folder / "rsyslog.conf").write_text(
        f"""global(workDirectory="{folder}" {files if secured else ""})
        module(load="imtcp"{tls})
        template(name="parsed" type="string" string="{_PARSED}\\n")
        input(type="imtcp" address="127.0.0.1" port="0" listenPortFileName="{port}")
        action(type="omfile" file="{written}" template="parsed")"""
    )
    command = [str(_PROGRAM), "-n", "-f", str(folder / "rsyslog.conf"), "-i", str(folder / "pid")]
    with (folder / "rsyslog.log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            until = time.monotonic() + PATIENCE
            while not (port.exists() and port.read_text()):
                said = (folder / "rsyslog.log").read_text()
                if "lmnsd_ossl" in said:
                    pytest.skip("rsyslog-openssl is not installed")
                assert process.poll() is None, said
                assert time.monotonic() < until, said
                time.sleep(0.05)
            yield Rsyslog(int(port.read_text()), written)
        finally:
            process.send_signal(signal.SIGTERM)


def _read(line: str) -> Received:
    *header, document = line.split(" ", 8)
    pri, version, *texts = header
    return Received(int(pri), int(version), *texts, json.loads(document))
