"""A PKCS#11 token in files, of Debian's package softhsm2, for tests: a new one for each test."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from storage.key_service import TokenAddress

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
PIN = "pin 4711"

_MISSING = [
    name
    for name, is_there in (
        (str(MODULE), MODULE.exists()),
        ("softhsm2-util", shutil.which("softhsm2-util") is not None),
        ("python-pkcs11", importlib.util.find_spec("pkcs11") is not None),
    )
    if not is_there
]
needed = pytest.mark.skipif(bool(_MISSING), reason=f"{', '.join(_MISSING)} is not installed")


class SoftToken:
    """One token, in a folder of its own, with a label of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tokens"
        self.folder.mkdir()
        self.configuration = folder / "softhsm2.conf"
        self.configuration.write_text(f"directories.tokendir = {self.folder}\nlog.level = ERROR\n")
        self.label = f"panapp {folder.name}"[:32]
        self.address = TokenAddress(str(MODULE), self.label, "")
        self.initialize(PIN)

    def initialize(self, pin: str) -> None:
        """Make the token, with no key in it."""
        subprocess.run(
            [
                "softhsm2-util",
                "--init-token",
                "--free",
                "--label",
                self.label,
                "--pin",
                pin,
                "--so-pin",
                "5678",
            ],
            env={**os.environ, "SOFTHSM2_CONF": str(self.configuration)},
            check=True,
            capture_output=True,
        )

    @property
    def uri(self) -> str:
        """As PANAPP_KEY_SERVICE has it."""
        return f"pkcs11:token={quote(self.label)}?module-path={MODULE}"

    @contextmanager
    def removed(self) -> Iterator[None]:
        """The token is not there in this block."""
        away = self.folder.with_name("away")
        self.folder.rename(away)
        self.folder.mkdir()
        try:
            yield
        finally:
            self.folder.rmdir()
            away.rename(self.folder)


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoftToken]:
    """A token, which processes that the test starts find, too."""
    from storage import key_token

    made = SoftToken(tmp_path)
    monkeypatch.setenv("SOFTHSM2_CONF", str(made.configuration))
    key_token.forget()
    yield made
    key_token.forget()


@pytest.fixture
def silenced(token: SoftToken) -> Callable[[], AbstractContextManager[None]]:
    """Removes the token in a block."""
    return token.removed
