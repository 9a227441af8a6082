"""Every page of the site: accessible, and not wider than the screen."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route

from tests.scenes import PASSWORD, account

from .accessibility import violations
from .conftest import Visitor
from .every_page import pages, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 400, "height": 800}

NOTHING_LATER = "document.addEventListener('htmx:beforeRequest', (event) => event.preventDefault());"
"""Nothing that HTMX fetches later changes a page while it is looked at."""


def test_every_page_is_accessible_and_fits_the_screen(visit: Visit, client: Any, settings: Any) -> None:
    settings.SITE_URL, settings.EMAIL_FROM = "http://localhost", "telemetry@telemetry.example"
    settings.TRY = True
    user = account("ada", "Analysts", is_staff=True, is_superuser=True)
    client.force_login(user)
    paths = pages(client, scene(user))
    found: list[str] = []
    scripted = visit(reduced_motion="reduce")
    scripted.context.add_init_script(NOTHING_LATER)
    still = visit(viewport=PHONE, reduced_motion="reduce")
    still.context.route("**/*", _without_scripts)

    def look(path: str) -> None:
        scripted.open(path)
        for scheme, size in (("light", WIDE), ("dark", PHONE)):
            scripted.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            scripted.page.set_viewport_size(size)
            found.extend(f"{scheme}, {size['width']}: {path} {each}" for each in violations(scripted))
        still.open(path)
        found.extend(f"without scripts: {path} {each}" for each in violations(still))

    look("/sign-in/")
    for visitor in (scripted, still):
        visitor.sign_in_by_form("ada", PASSWORD)
    for path in paths:
        look(path)
    assert found == []


def _without_scripts(route: Route) -> None:
    """Not switched off altogether, as axe is a script, too."""
    if route.request.resource_type == "script":
        route.fulfill(content_type="text/javascript", body="")
    else:
        route.continue_()
