"""Chromium with the extension and an administrator's policy for it, of which this machine keeps nothing.

The policy lies in a folder that only this one browser sees: Linux gives its process a view of files of its
own (a mount namespace).
"""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Worker

from tests.browser.conftest import ARGUMENTS, chromium
from tests.patience import PATIENCE

POLICIES = "/etc/chromium"

STARTER = """#!/bin/sh
exec unshare --map-root-user --mount sh -c '
  mount -t tmpfs none {policies} && mkdir -p {policies}/policies/managed &&
  cp "{policy}" {policies}/policies/managed/ && exec {chromium} "$@"' chromium "$@"
"""

STATES = """() => new Promise((done, failed) => {
  const opening = indexedDB.open("devices-web");
  opening.onerror = () => failed(opening.error);
  opening.onupgradeneeded = () => { opening.transaction.abort(); done([]); };
  opening.onsuccess = () => {
    const asked = opening.result.transaction("states").objectStore("states").getAll();
    asked.onsuccess = () => { opening.result.close(); done(asked.result); };
  };
})"""


class Managed:
    """A managed computer's browser.

    Attributes:
        context: of it.
        worker: the extension's, which has its storage.
    """

    def __init__(self, context: BrowserContext, worker: Worker) -> None:
        self.context = context
        self.worker = worker

    def told(self) -> str:
        """What the page for administrators says."""
        page = self.context.new_page()
        page.goto(self.worker.url.replace("background.js", "options.html"))
        page.wait_for_selector("#policy p")
        text = page.inner_text("body")
        page.close()
        return text

    def state(self, recipe: str) -> dict[str, Any] | None:
        """What the extension keeps of a recipe now."""
        states: list[dict[str, Any]] = self.worker.evaluate(STATES)
        return next((state for state in states if state["recipe"] == recipe), None)


@contextmanager
def managed(
    browser: Browser, built: Path, folder: Path, *settings: dict[str, Any]
) -> Iterator[tuple[Managed, ...]]:
    """The extension below `built`, once for each of these settings in the policy; its hosts may be this
    machine, too."""
    if shutil.which("unshare") is None or not Path(POLICIES).is_dir():
        pytest.skip(f"a policy needs Linux, unshare and {POLICIES}")
    probe = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", POLICIES],
        capture_output=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip("this machine lets no process have a view of files of its own")
    manifest = json.loads((built / "manifest.json").read_text())
    manifest["host_permissions"].append("http://127.0.0.1/*")
    extensions = [folder / f"extension-{number}" for number in range(len(settings))]
    for extension in extensions:
        shutil.copytree(built, extension)
        (extension / "manifest.json").write_text(json.dumps(manifest))
    names = [identifier(extension) for extension in extensions]
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"3rdparty": {"extensions": dict(zip(names, settings, strict=True))}}))
    starter = folder / "chromium"
    starter.write_text(STARTER.format(policies=POLICIES, policy=policy, chromium=chromium()))
    starter.chmod(0o755)
    context = browser.browser_type.launch_persistent_context(
        folder / "profile",
        executable_path=starter,
        ignore_default_args=["--disable-extensions"],
        args=[
            *ARGUMENTS,
            "--disable-features=DisableLoadExtensionCommandLineSwitch",
            f"--load-extension={','.join(map(str, extensions))}",
        ],
    )
    context.set_default_timeout(1_000 * PATIENCE)
    try:
        while len(context.service_workers) < len(names):
            context.wait_for_event("serviceworker")
        of_name = {urlsplit(worker.url).netloc: worker for worker in context.service_workers}
        yield tuple(Managed(context, of_name[name]) for name in names)
    finally:
        context.close()


def identifier(extension: Path) -> str:
    """By which Chromium knows an extension without a key: a hash of its folder's name."""
    digest = hashlib.sha256(str(extension).encode()).hexdigest()
    return "".join(chr(ord("a") + int(digit, 16)) for digit in digest[:32])
