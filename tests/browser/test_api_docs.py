import os
import shutil

import pytest
from playwright.sync_api import ConsoleMessage, Request, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("PANAPP_TEST_SERVICES") != "required",
        reason="Chromium is not installed",
    ),
]


def test_api_documentation_shows_every_operation_under_our_own_policy(live_server: LiveServer) -> None:
    complaints: list[str] = []
    requests: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    def asked(request: Request) -> None:
        requests.append(request.url)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", heard)
        page.on("request", asked)
        answer = page.goto(f"{live_server.url}/api/docs/")
        assert answer is not None
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        expect(page.locator(".opblock")).to_have_count(5)
        page.get_by_text("Submit one report").click()
        expect(page.locator(".opblock-body")).to_contain_text("nonce")
        browser.close()

    assert complaints == []
    assert all(url.startswith((live_server.url, "data:", "blob:")) for url in requests), requests
