"""Private simulations: analysts see them, others find nothing of them, and they can be deleted."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from log.audit.models import Entry
from log.public_log.models import Leaf
from log.public_log.tree_growth import integrate
from log.public_log.verification import log_verify
from panprivacy.formats.errors import FieldError
from publishing.publication import recipe_publish_file
from recipes.access import DEVICE_KEY
from recipes.converters import IdentifierConverter
from recipes.models import Recipe
from results.models import Release
from simulations import deletion, operations, tasks
from simulations.chunks import chunk_run, chunks_take
from simulations.deletion import simulation_delete
from simulations.errors import SimulationRefusedError
from simulations.models import Simulation
from simulations.operations import simulation_cancel, simulation_start
from simulations.selectors import MOST_AT_ONCE, Stage, progress_of, seconds_estimated
from tests.collections.simulations.scene import BERNOULLI, Site, released, run, start
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst, auditor

pytestmark = pytest.mark.django_db

SECRETS = {"name": "Kestrel", "question": "Did the unannounced product crash?", "event": "kestrel.crash"}
UNKNOWN = "0" * 64
EXAMPLES = {"number": 1, "intrusion": 1}
"""Of the other parameters that addresses with an identifier have."""

OF_THE_LOG = {"audit.Entry", "audit.Head", "public_log.Leaf", "public_log.Tree"}
"""Tables that only grow."""


def private(**changes: Any) -> Simulation:
    return start(public=False, **{"cohort_size": 20, **SECRETS, **changes})


def finished(**changes: Any) -> Simulation:
    simulation = run(private(**changes), Site())
    released(simulation)
    return Simulation.objects.get(pk=simulation.pk)


def patterns(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            # Of the admin site, names are those of tables, and staff alone reads it.
            if pattern.app_name != "admin":
                yield from patterns(pattern)
        elif pattern.name:
            yield pattern


def parameters(pattern: URLPattern) -> set[str]:
    return set(pattern.pattern.regex.groupindex)


def read(client: Client, method: str, page: str, named: dict[str, Any]) -> tuple[int, str]:
    """Status, place and content of an answer, but for the identifier."""
    address = reverse(page, kwargs=named)
    answer = client.generic(method, address, "{}", content_type="application/json")
    content = answer.headers.get("Location", "") + answer.getvalue().decode(errors="replace")
    content = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", content)
    return answer.status_code, content.replace(named["identifier"], "IDENTIFIER")


@pytest.mark.parametrize("make", [private, finished])
def test_every_address_of_a_recipe_answers_others_as_of_an_unknown_one(make: Any) -> None:
    identifier = str(make().recipe.identifier)
    asked = [
        pattern
        for pattern in patterns()
        if isinstance(pattern.pattern.converters.get("identifier"), IdentifierConverter)
    ]
    assert {"recipe", "api-recipe", "api-recipe-proof", "result-svg", "api-report"} <= {
        str(pattern.name) for pattern in asked
    }
    for client in (Client(), signed_in()):
        for pattern in asked:
            others = {name: EXAMPLES[name] for name in parameters(pattern) - {"identifier"}}
            for method in ("GET", "POST"):
                own, unknown = (
                    read(client, method, str(pattern.name), {"identifier": one, **others})
                    for one in (identifier, UNKNOWN)
                )
                assert own == unknown, (pattern.name, method)


def signed_in() -> Client:
    client = Client()
    client.force_login(auditor())
    return client


def test_no_list_search_or_feed_that_others_read_names_the_question() -> None:
    simulation = finished()
    identifier = str(simulation.recipe.identifier)
    integrate()
    searches = [identifier[:12], "Kestrel", "unannounced", str(simulation.pk)]
    addresses = [f"{page}?q={text}" for page in ("/", "/log/", "/audit/") for text in searches]
    addresses += [f"/api/v1/recipes/?search={text}" for text in searches]
    addresses += [f"/?event={SECRETS['event']}", f"/compare/?recipe={identifier}"]
    everything = [reverse(str(one.name)) for one in patterns() if not parameters(one)]
    for client, asked in ((Client(), [*everything, *addresses]), (signed_in(), addresses)):
        for address in asked:
            content = client.get(address).getvalue().decode(errors="replace")
            # What was asked for is repeated.
            for word in (SECRETS["question"], "Kestrel", identifier):
                assert word not in content or word in address, (address, word)
    assert SECRETS["question"] not in client.get(f"/compare/?recipe={identifier}").content.decode()


def test_the_log_has_an_entry_that_names_nothing() -> None:
    ana = analyst()
    simulation = simulation_start(
        members=recipe_members(**SECRETS), workload=BERNOULLI, seed=7, actor=ana, public=False
    )
    released(run(simulation, Site()))
    integrate()
    entries = Entry.objects.filter(actor=ana.get_username())
    assert [(entry.action, entry.subject, entry.details) for entry in entries] == [
        ("simulation_started", f"simulation {simulation.pk}", {})
    ]
    recipe = Recipe.objects.get()
    stored = json.dumps(list(Entry.objects.values("subject", "details")))
    stored += "".join(Leaf.objects.values_list("content", flat=True))
    for word in (*SECRETS.values(), str(recipe.identifier), recipe.document):
        assert word not in stored
    (leaf,) = Leaf.objects.filter(position=entries[0].index - 1)
    assert json.loads(leaf.content).keys() == {"commitment"}
    assert log_verify() == Entry.objects.count()
    assert "ana started a private simulation." in page_text(signed_in().get("/audit/"))


def test_analysts_see_it_in_their_list_and_its_result() -> None:
    simulation = finished()
    client = Client()
    client.force_login(analyst())
    assert "Private simulation" in page_text(client.get("/"))
    recipe = reverse("recipe", args=[simulation.recipe.identifier])
    page = client.get(recipe)
    assert "Private simulation" in page_text(page)
    # What rests on the public log is left out.
    assert reverse("recipe-verify", args=[simulation.recipe.identifier]) not in page.content.decode()
    assert client.get(f"{recipe}verify/").status_code == 404
    picture = client.get(f"{recipe}result.svg")
    assert picture.status_code == 200
    assert "no-store" in picture.headers["Cache-Control"]
    assert "public" not in picture.headers["Cache-Control"]


def test_only_its_own_device_key_lets_a_device_in(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation, other = private(), private()
    identifier = str(simulation.recipe.identifier)
    address = reverse("api-recipe", args=[identifier])
    for key, status in (
        (simulation.recipe.device_key, 200),
        (other.recipe.device_key, 404),
        ("", 404),
        ("\xe9", 404),
    ):
        assert Client().get(address, headers={DEVICE_KEY: key}).status_code == status
    sent: list[dict[str, str]] = []

    class Noted(Site):
        def __init__(self, address: str, *, fields: dict[str, str]) -> None:
            sent.append(fields)

    monkeypatch.setattr(tasks, "HttpTransport", Noted)
    monkeypatch.setattr(tasks, "steps_send", lambda only: None)  # no broker is asked
    for one in (simulation, start()):
        tasks.simulate_devices(str(chunks_take(simulation=one)[0]))
    assert sent == [{DEVICE_KEY: simulation.recipe.device_key}, {}]


def rows() -> dict[str, set[Any]]:
    """Primary keys of every table but those of the log."""
    return {
        model._meta.label: set(model._base_manager.values_list("pk", flat=True))
        for model in apps.get_models(include_auto_created=True)
        if model._meta.label not in OF_THE_LOG
    }


@pytest.mark.parametrize("make", [private, finished], ids=["running", "finished"])
def test_delete_leaves_no_row_but_entries_of_the_log(
    make: Any, django_capture_on_commit_callbacks: Any
) -> None:
    kept = released(run(start(), Site()))
    before = rows()
    with django_capture_on_commit_callbacks(execute=True):
        simulation_delete(simulation=make(), actor=None)
    assert rows() == before
    assert Release.objects.get() == kept
    assert Entry.objects.latest("index").action == "simulation_deleted"
    integrate()
    assert log_verify() == Entry.objects.count()


def test_delete_that_fails_in_the_middle_leaves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = finished()
    before = rows()

    def failing(**_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(deletion, "entry_append", failing)
    with pytest.raises(RuntimeError):
        simulation_delete(simulation=simulation, actor=None)
    assert rows() == before


@pytest.mark.parametrize("operation", [simulation_delete, simulation_cancel])
def test_simulation_that_is_deleted_meanwhile_is_refused(operation: Any) -> None:
    simulation = private()
    simulation_delete(simulation=simulation, actor=None)
    with pytest.raises(SimulationRefusedError, match="deleted already"):
        operation(simulation=simulation, actor=None)


def test_delete_of_a_public_simulation_is_refused() -> None:
    simulation = start()
    with pytest.raises(SimulationRefusedError, match="public"):
        simulation_delete(simulation=simulation, actor=None)
    assert Simulation.objects.get() == simulation


def test_start_that_fails_in_the_middle_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, entries = rows(), Entry.objects.count()

    def failing(*_: Any) -> int:
        raise RuntimeError

    monkeypatch.setattr(operations, "chunks_store", failing)
    with pytest.raises(RuntimeError):
        private()
    assert (rows(), Entry.objects.count()) == (before, entries)


def test_work_of_a_deleted_simulation_does_nothing() -> None:
    simulation = private()
    (chunk,) = chunks_take(simulation=simulation)

    class Deleting(Site):
        """It is deleted while its devices report."""

        def exchange(self, *arguments: Any, **named: Any) -> Any:
            if Simulation.objects.exists():
                simulation_delete(simulation=simulation, actor=None)
            return super().exchange(*arguments, **named)

    chunk_run(chunk=chunk, transport=Deleting())
    assert not Recipe.objects.exists()
    assert chunks_take(simulation=simulation) == []


def test_recipe_of_other_servers_is_simulated_in_public_only() -> None:
    for changes, named in (
        ({"trust": "two_server"}, "helper"),
        ({"trust": "joint_key"}, "helper"),
        ({"admission": "token"}, "issuer"),
        ({"relay": True}, "relay"),
    ):
        with pytest.raises(FieldError, match=f"^public: must be true: an? {named}"):
            recipe_publish_file(members=recipe_members(**changes), actor=None, simulation=True, private=True)
    assert not Recipe.objects.exists()


def test_public_simulation_is_what_others_read() -> None:
    simulation = start(**SECRETS)
    assert SECRETS["question"] in page_text(Client().get("/"))
    actions = Entry.objects.filter(subject=simulation.recipe.identifier).values_list("action", flat=True)
    assert list(actions) == ["recipe_published"]
    assert Client().get(reverse("api-recipe", args=[simulation.recipe.identifier])).status_code == 200


def test_api_keeps_drafts_private_and_lets_owner_or_administrator_delete() -> None:
    ana, owner = analyst(), Client()
    owner.force_login(ana)
    other, administrator = Client(), Client()
    other.force_login(account("otto", "Analysts"))
    administrator.force_login(account("root", "Analysts", is_superuser=True))
    body = {"recipe": recipe_members(), "workload": BERNOULLI}

    def started(**changes: Any) -> dict[str, Any]:
        answer = owner.post("/api/v1/simulations/", {**body, **changes}, content_type="application/json")
        assert answer.status_code == 202
        told: dict[str, Any] = answer.json()
        return told

    def deleted(client: Client, told: dict[str, Any]) -> int:
        return client.post(reverse("api-simulation-delete", args=[told["id"]])).status_code

    first, second, shown = started(), started(public=False), started(public=True)
    assert [told["public"] for told in (first, second, shown)] == [False, False, True]
    assert deleted(other, first) == 403
    assert (deleted(owner, first), deleted(owner, first)) == (204, 404)
    assert (deleted(administrator, second), deleted(administrator, shown)) == (204, 409)
    assert Recipe.objects.get().identifier == shown["recipe"]


def test_page_offers_deletion_to_its_owner_and_administrators_only() -> None:
    ana = analyst()
    simulation = simulation_start(
        members=recipe_members(), workload=BERNOULLI, seed=7, actor=ana, public=False
    )
    simulation_cancel(simulation=simulation, actor=ana)
    page, delete = (reverse(name, args=[simulation.pk]) for name in ("simulation", "simulation-delete"))
    owner, other = Client(), Client()
    owner.force_login(ana)
    other.force_login(account("otto", "Analysts"))
    assert delete not in other.get(page).content.decode()
    assert other.post(delete).status_code == 403
    assert delete in owner.get(page).content.decode()
    assert "Deleted" in page_text(owner.post(delete, follow=True))
    assert owner.get(page).status_code == 404


def test_simulation_beyond_those_at_once_waits_in_line_by_itself() -> None:
    running = [start() for _ in range(MOST_AT_ONCE)]
    waiting = start()
    assert chunks_take(simulation=waiting) == []
    progress = progress_of(waiting, timezone.now())
    assert (progress.stage, progress.ahead) == (Stage.WAITING, MOST_AT_ONCE)
    simulation_cancel(simulation=running[0], actor=None)
    assert chunks_take(simulation=waiting)


def test_estimate_follows_what_the_latest_simulations_took() -> None:
    first = seconds_estimated(100)
    simulation = run(start(), Site())
    assert simulation.begun_at is not None
    Simulation.objects.update(estimated_seconds=10, ended_at=simulation.begun_at + timedelta(seconds=5))
    assert seconds_estimated(100) - seconds_estimated(0) == (first - seconds_estimated(0)) / 2
