"""The pages below /try/."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from panapp.web_build import WebBuildFinder
from recipes.models import Recipe
from simulations import tries
from simulations.models import Simulation
from tests.collections.simulations.tries_scene import DEVICES, devices_report, ended, small_tries
from tests.factories import published_recipe
from tests.page_text import page_text

pytestmark = pytest.mark.django_db

MISSING = "make web"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    small_tries(monkeypatch, settings)
    monkeypatch.setattr("panapp.web_build.BUILD", tmp_path)
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


def test_pages_are_not_there_where_the_setting_is_off(client: Client, settings: Any) -> None:
    address = begun(client)
    assert reverse("try-it") in client.get("/").content.decode()
    settings.TRY = False
    for path in (reverse("try-it"), reverse("try-intruder"), address):
        assert client.get(path).status_code == 404
    assert client.post(reverse("try-it")).status_code == 404
    assert reverse("try-it") not in client.get("/").content.decode()


def test_page_says_how_long_a_try_takes_as_it_is(client: Client) -> None:
    text = page_text(client.get("/try/"))
    assert "There are 4 steps of 10 seconds." in text
    lasts = timedelta(seconds=tries.STEPS * tries.STEP_SECONDS) + tries.REPORTING
    # Then workers add up for some seconds.
    assert timedelta(seconds=50) <= lasts <= timedelta(seconds=60)
    assert "the result is there about a minute after the first step began" in text
    assert "within 8 seconds, or up to 60 seconds later" in text
    assert text.count("minute") == 2, "the heading, and the above"


@pytest.mark.usefixtures("built")
def test_pages_load_the_programs_that_were_built(client: Client) -> None:
    address = begun(client)
    for path, program in (("/try/", "try"), (address, "try"), ("/try/intruder/", "intruder")):
        page = client.get(path).content.decode()
        assert f'<script type="module" src="/static/devices-web/{program}.js"></script>' in page
        assert MISSING not in page
        assert "<noscript>" in page


def test_pages_say_in_one_line_what_is_missing_where_nothing_was_built(client: Client) -> None:
    for path in ("/try/", begun(client), "/try/intruder/"):
        page = client.get(path).content.decode()
        assert MISSING in page
        assert 'type="module"' not in page


@pytest.mark.usefixtures("built")
def test_static_files_have_the_modules_at_the_top_of_the_build_and_no_others(tmp_path: Path) -> None:
    finder = WebBuildFinder()
    assert [name for name, _ in finder.list(None)] == ["intruder.js", "try.js"]
    assert [name for name, _ in finder.list(["try*"])] == ["intruder.js"]
    assert finder.find("devices-web/try.js") == str(tmp_path / "try.js")
    assert finder.find("devices-web/try.js", find_all=True) == [str(tmp_path / "try.js")]
    for path in ("devices-web/tests/try.js", "devices-web/../try.js", "try.js", "devices-web/other.js"):
        assert not finder.find(path)


def test_button_leads_every_visitor_to_the_same_try_without_an_account(client: Client) -> None:
    address = begun(client)
    assert begun(Client()) == address
    page = client.get(address)
    assert "On how many devices did it happen?" in page_text(page)
    assert "every 3s" in page.content.decode()


def test_form_without_its_token_begins_nothing() -> None:
    assert Client(enforce_csrf_checks=True).post(reverse("try-it")).status_code == 403
    assert not Simulation.objects.exists()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("TRIES_AN_HOUR", "it was begun very often from your network within an hour; come back in an hour."),
        ("TRIES_A_DAY", "so many people tried it today that it rests; come back tomorrow."),
        ("TRIES_AT_ONCE", "others are trying it, and their devices are still at work; press again"),
    ],
)
def test_refusal_tells_a_visitor_when_to_come_back_and_is_no_success(
    client: Client, monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    monkeypatch.setattr(tries, limit, 0)
    answer = client.post(reverse("try-it"))
    assert answer.status_code == 429
    assert f"It cannot begin now: {said}" in page_text(answer)


def test_site_without_an_address_says_who_can_help(client: Client, settings: Any) -> None:
    settings.SITE_URL = ""
    answer = client.post(reverse("try-it"))
    assert answer.status_code == 429
    assert "this site is not ready for it; whoever runs it has to set its address" in page_text(answer)


def test_two_addresses_are_counted_apart(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "TRIES_AN_HOUR", 1)
    monkeypatch.setattr(tries, "LEAD", timedelta())  # too late to be joined
    begun(client)
    assert client.post(reverse("try-it")).status_code == 429
    assert client.post(reverse("try-it"), REMOTE_ADDR="192.0.2.1").status_code == 302


def test_result_counts_browsers_apart_and_what_had_happened_is_said_of_simulated_devices_only(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert "hx-get" not in part.content.decode()
    assert "<!doctype" not in part.content.decode().lower()


def test_try_that_was_withheld_says_why(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "COHORT_SIZE", DEVICES + 1)
    address = begun(client)
    ended(devices_report(Simulation.objects.get()), monkeypatch)
    assert "Nothing was released: fewer reports than the cohort size" in page_text(client.get(address))


def test_recipe_that_is_no_try_has_no_such_page(client: Client) -> None:
    assert client.get(reverse("try", args=[published_recipe().identifier])).status_code == 404


@pytest.mark.searches
def test_tries_do_not_crowd_the_overview_and_a_search_finds_them(client: Client) -> None:
    begun(client)
    recipe = Recipe.objects.get()
    other = published_recipe()
    page = client.get("/").content.decode()
    assert str(other.identifier) in page
    assert str(recipe.identifier) not in page
    assert str(recipe.identifier) in client.get("/", {"q": "Try it"}).content.decode()


def test_page_says_of_each_who_looks_what_they_see_and_how_sure_one_report_makes(client: Client) -> None:
    said = page_text(client.get("/try/"))
    for who in ("An intruder", "The network", "The server", "The public"):
        assert who in said
    assert "becomes at most 73% sure" in said
    # 1 / (2 · 0.7311 - 1) = 2.164
    assert "by at most 2.2 devices" in said
