"""The pages below /try/."""

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from pages.web_build import WebBuildFinder
from recipes.models import Recipe
from simulations import tries
from simulations.models import Simulation
from tests.collections.simulations.scene import DEVICES, devices_report, ended, small_tries
from tests.factories import published_recipe
from tests.page_text import page_text

pytestmark = pytest.mark.django_db

MISSING = "make web"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    small_tries(monkeypatch, settings)
    monkeypatch.setattr("pages.web_build.BUILD", tmp_path)
    cache.clear()


@pytest.fixture
def built(tmp_path: Path) -> None:
    for name in ("try.js", "intruder.js", "tests/try.js"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("// built")


def begun(client: Client) -> str:
    """The address of a try."""
    answer = client.post(reverse("try-it"))
    assert answer.status_code == 302, page_text(answer)
    return str(answer["Location"])


def polled(client: Client, address: str, shown: str) -> HttpResponse:
    return client.get(address, {"shown": shown}, headers={"HX-Request": "true"})


def test_button_leads_every_visitor_to_one_try_unless_it_is_off(client: Client, settings: Any) -> None:
    address = begun(client)
    assert begun(Client()) == address
    page = client.get(address)
    assert "On how many devices did it happen?" in page_text(page)
    assert "every 3s" in page.content.decode()
    assert reverse("try-it") in client.get("/").content.decode()
    settings.TRY = False
    for path in (reverse("try-it"), reverse("try-intruder"), address):
        assert client.get(path).status_code == 404
    assert client.post(reverse("try-it")).status_code == 404
    assert reverse("try-it") not in client.get("/").content.decode()


@pytest.mark.parametrize("is_built", [True, False])
def test_pages_load_the_programs_that_were_built(
    client: Client, is_built: bool, request: pytest.FixtureRequest
) -> None:
    if is_built:
        request.getfixturevalue("built")
    for path, program in (("/try/", "try"), (begun(client), "try"), ("/try/intruder/", "intruder")):
        page = client.get(path).content.decode()
        script = f'<script type="module" src="/static/devices-web/{program}.js"></script>'
        assert (script in page) is ('type="module"' in page) is is_built
        assert (MISSING in page) is not is_built
        assert "<noscript>" in page


@pytest.mark.usefixtures("built")
def test_static_files_have_the_top_of_the_build_only(tmp_path: Path) -> None:
    finder = WebBuildFinder()
    assert [name for name, _ in finder.list(None)] == ["intruder.js", "try.js"]
    assert [name for name, _ in finder.list(["try*"])] == ["intruder.js"]
    assert finder.find("devices-web/try.js") == str(tmp_path / "try.js")
    assert finder.find("devices-web/try.js", find_all=True) == [str(tmp_path / "try.js")]
    for path in ("devices-web/tests/try.js", "devices-web/../try.js", "try.js", "devices-web/other.js"):
        assert not finder.find(path)


def test_refusal_says_when_to_come_back(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    assert Client(enforce_csrf_checks=True).post(reverse("try-it")).status_code == 403
    for limit, said in (
        ("TRIES_AN_HOUR", "it was begun very often from your network within an hour; come back in an hour."),
        ("TRIES_A_DAY", "too many people tried it today; come back tomorrow."),
        ("TRIES_AT_ONCE", "others are trying it, and their devices are still at work; press again"),
        ("", "this site is not ready for it; its operator has to set its address"),
    ):
        with monkeypatch.context() as limited:
            if limit:
                limited.setattr(tries, limit, 0)
            else:
                settings.SITE_URL = ""
            answer = client.post(reverse("try-it"))
        assert answer.status_code == 429
        assert f"It cannot begin now: {said}" in page_text(answer)
    assert not Simulation.objects.exists()
    assert client.get(reverse("try", args=[published_recipe().identifier])).status_code == 404


def test_result_counts_browsers_apart_and_at_the_end(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    address = begun(client)
    assert polled(client, address, "collecting").status_code == 204
    simulation = devices_report(Simulation.objects.get())
    # However many have reported, nothing is told before the end.
    assert polled(client, address, "collecting").status_code == 204
    ended(simulation, monkeypatch)
    part = polled(client, address, "collecting")
    said = page_text(part)
    assert f"{DEVICES} reports came: {DEVICES} from simulated devices and 0 from browsers." in said
    assert "It happened on" in said
    for of_a_page in ("hx-get", "<!doctype"):
        assert of_a_page not in part.content.decode().lower()
    Simulation.objects.all().delete()
    cache.clear()
    monkeypatch.setattr(tries, "COHORT_SIZE", DEVICES + 1)
    withheld = begun(client)
    assert withheld != address
    ended(devices_report(Simulation.objects.get()), monkeypatch)
    assert "Nothing was released: fewer reports than the cohort size" in page_text(client.get(withheld))


def test_tries_do_not_crowd_the_overview_and_a_search_finds_them(client: Client) -> None:
    begun(client)
    recipe = Recipe.objects.get()
    other = published_recipe()
    page = client.get("/").content.decode()
    assert str(other.identifier) in page
    assert str(recipe.identifier) not in page
    assert str(recipe.identifier) in client.get("/", {"q": "Try it"}).content.decode()


def test_page_says_what_each_attacker_sees_and_how_sure_it_is(client: Client) -> None:
    said = page_text(client.get("/try/"))
    for who in ("An intruder", "The network", "The server", "The public"):
        assert who in said
    assert "becomes at most 73% sure" in said
    # 1 / (2 · 0.7311 - 1) = 2.164
    assert "by at most 2.2 devices" in said
