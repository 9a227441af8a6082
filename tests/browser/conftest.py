"""Headless Chromium against a live server, and everything it complained about."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.patience import PATIENCE
from tests.peers.node_packages import installed

DEVICES_WEB = Path(__file__).parent.parent.parent / "devices_web"

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session", autouse=True)
def _orm_beside_the_driver() -> Iterator[None]:
    # Playwright's synchronous driver keeps an event loop in this thread; the ORM would refuse
    # to work beside it.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def chromium() -> str | None:
    """Where Chromium lies; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def shell() -> str | None:
    """Where Chromium's headless shell lies, or else Chromium. The engine is the same, and takes seven tenths
    of the processor time (measured with `test_every_page.py`); extensions it has none."""
    return shutil.which("chromium-headless-shell") or chromium()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = shell()
    if executable is None:
        # CI installs it: there, its absence is a fault.
        missing = pytest.fail if os.environ.get("PANAPP_TEST_SERVICES") == "required" else pytest.skip
        missing("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        expect.set_options(timeout=1_000 * PATIENCE)
        yield instance
        instance.close()


class Visitor:
    """A browser context signed in as one account (or nobody), with its complaints."""

    def __init__(self, context: BrowserContext, address: str, *, has_scripts: bool = True) -> None:
        self.context = context
        self.address = address
        self.has_scripts = has_scripts
        self.complaints: list[str] = []
        context.set_default_timeout(1_000 * PATIENCE)
        self.page: Page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._requested)

    def _heard(self, message: Any) -> None:
        # A newer request of a form ends the one before it (`hx-sync`). A failed one is a sendError besides.
        if message.text.startswith(("htmx:afterRequest", "htmx:sendAbort")):
            return
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{self.page.url}: {message.text}")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.complaints.append(f"{self.page.url} asked for {request.url}")

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.address}{path}")
        return self.page

    def sign_in(self, username: str, password: str) -> None:
        """By the session of a client, which takes less than two pages and a form."""
        client, name = Client(), settings.SESSION_COOKIE_NAME
        client.post(reverse("sign-in"), {"username": username, "password": password})
        session = client.cookies[name].value
        self.context.add_cookies([{"name": name, "value": session, "url": self.address}])
        self.open("/")

    def sign_in_by_form(self, username: str, password: str) -> None:
        page = self.open("/sign-in/")
        page.get_by_label("Username").fill(username)
        page.get_by_label("Password").fill(password)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{self.address}/")


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Any]:
    """A function that opens a context; at the end no page may have complained."""
    visitors: list[Visitor] = []

    def new(**options: Any) -> Visitor:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        has_scripts = options.get("java_script_enabled", True)
        visitors.append(Visitor(context, live_server.url, has_scripts=has_scripts))
        return visitors[-1]

    yield new
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints]
    for visitor in visitors:
        visitor.context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what devices_web builds."""
    copy = installed(DEVICES_WEB, tmp_path_factory.mktemp("web") / "devices_web")
    subprocess.run(["node", "build.mjs"], cwd=copy, check=True, timeout=300)
    return copy / "build"


@pytest.fixture(scope="session")
def bundle(built: Path) -> str:
    """devices_web, built for pages."""
    return (built / "devices-web.js").read_text()


@pytest.fixture(scope="session")
def built_extension(built: Path) -> Path:
    """The folder with the extension."""
    return built / "extension"
