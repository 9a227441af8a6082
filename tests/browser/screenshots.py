"""The walk of docs/crash-rate.md, from an empty installation to its answer, and the pictures of that page.

Run from the repository's root: `python -m tests.browser.screenshots`. It starts an installation of its own in
a temporary directory, and writes the pictures to docs/crash-rate/.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

PICTURES = Path(__file__).resolve().parent.parent.parent / "docs" / "crash-rate"

QUESTION = "On how many devices did the app crash?"
VERSIONS = ("2.0", "2.1", "2.2")
WORSE = VERSIONS[-1]
"""The version that goes up in the last round: the form suggests the newest."""

ROUNDS = 4
SECONDS = 60
"""For the simulation: four rounds take about half of that."""


def walk(page: Page, site: str, username: str, password: str) -> Iterator[str]:
    """From the first page of an empty installation to the sentence that names the version.

    Yields:
        The name of a picture, each time the page shows what the docs show.
    """
    page.goto(f"{site}/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("No recipes yet. Three steps lead to the first result.")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Populations").first.click()
    page.get_by_role("link", name="New population").click()
    page.get_by_label("Name").fill("phones")
    page.get_by_label("Description").fill("Phones with our app.")
    page.locator("#id_epsilon").fill("10")
    page.locator("#id_delta").fill("0.00001")
    page.get_by_role("button", name="Create the population").click()
    expect(page.get_by_role("heading", name="phones")).to_be_visible()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="New").click()
    page.get_by_role("link", name="Which version is worse?").click()
    page.locator("#id_question").fill(QUESTION)
    page.locator("#id_event").fill("crash")
    page.locator("#id_segments").fill("\n".join(VERSIONS))
    page.locator("#id_population").select_option("phones")
    page.locator("#id_population_size").fill("3000")
    page.locator("#id_epsilon").fill("3")
    page.locator("#id_rounds").fill(str(ROUNDS))
    expect(page.locator("#preview")).to_contain_text("About 3,000 devices would report")
    _scroll(page.locator("label[for=id_question]"))
    yield "goal"
    page.get_by_role("button", name="Save as draft and review").click()
    expect(page.get_by_role("heading", name="What each round guarantees")).to_be_visible()
    _scroll(page.locator("#preview"))
    yield "review"
    page.get_by_role("button", name=re.compile("Simulate it first")).click()
    expect(page.locator("#about")).to_contain_text("It takes about")
    _scroll(page.locator("label[for=id_devices]"))
    yield "simulate"
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#series-simulation")).to_contain_text("rounds are done")
    moved = page.locator("#series .lead", has_text="is up by")
    expect(moved).to_contain_text(f"{WORSE} is up by", timeout=1_000 * SECONDS)
    expect(page.locator("#series-simulation")).to_have_count(0)
    _scroll(page.locator("#by-segment-title"))
    yield "answer"


def _scroll(first: Locator) -> None:
    """Show the page from here on."""
    first.evaluate("(element) => element.scrollIntoView()")


def main() -> None:
    """Take every picture."""
    with tempfile.TemporaryDirectory(prefix="panapp-pictures-") as directory:
        os.environ["PANAPP_DATA_DIR"] = directory
        from benchmarks.local_site import prepare

        prepare(Path(directory))
        from django.contrib.auth.models import User

        from simulations.installation.services import running_services
        from tests.browser.conftest import ARGUMENTS, shell

        User.objects.create_superuser("ana", password=directory)
        PICTURES.mkdir(exist_ok=True)
        with running_services() as services, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shell(), args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 920, "height": 560})
            for name in walk(page, services.base_url, "ana", directory):
                page.screenshot(path=PICTURES / f"{name}.png")
            browser.close()


if __name__ == "__main__":
    main()
