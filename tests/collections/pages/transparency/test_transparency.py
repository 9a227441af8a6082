"""The page "Log" shows everybody what is public, nobody who did it, and where the log contradicts others."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ledger.budget import Budget
from ledger.operations import population_create
from log.audit.actions import ACCESS_DENIED
from log.audit.models import Entry
from log.audit.operations import entry_append
from log.audit.registry import public_action_choices
from log.public_log.models import AskedWitness, Cosignature, Fork, SignedCheckpoint
from log.public_log.selectors import log_verifier_key
from log.public_log.tree_growth import integrate
from log.public_log.witness import witness_verifier_key
from pages.transparency.charts import KINDS
from pages.words.public_sentences import _SENTENCES, told_publicly
from panprivacy.protocols.transparency.policy import Policy
from publishing.publication import recipe_publish
from recipes.models import Recipe
from series.operations import series_publish
from series.rounds import input_publish
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, auditor, finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

PAGE = "/log/"


def shown(client: Client, query: str = "") -> list[int]:
    """Indices of the entries on the page."""
    return [entry.index for entry in client.get(f"{PAGE}{query}").context["entries"]]


def of(recipe: Recipe, *actions: str) -> list[int]:
    found = Entry.objects.filter(subject=recipe.identifier, action__in=actions)
    return list(found.order_by("-index").values_list("index", flat=True))


def test_log_shows_public_entries_with_names_but_no_actors(client: Client) -> None:
    recipe = recipe_publish(
        recipe=draft_recipe(name="Crashes & more"), actor=account("grace-hopper"), simulation=False
    )
    entry_append(action=ACCESS_DENIED, subject="s-private", actor=None, details={})
    answer = client.get(PAGE)
    content = answer.content.decode()
    assert f'<a href="/recipes/{recipe.identifier}/">Crashes &amp; more</a>' in content
    assert "grace-hopper" not in content
    assert "s-private" not in content
    assert shown(client, "?q=grace-hopper") == []
    assert shown(client, "?q=s-private") == []
    assert f'href="{PAGE}"' in client.get("/").content.decode()


def test_log_is_searched_by_name_identifier_hash_and_index_and_filtered(client: Client) -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=20, delta=1e-3), actor=None)
    other = published_recipe(name="Waits", population="clinics")
    recipe = finished_recipe([[1]] * 12, cohort_size=10, name="Crashes")
    everything = shown(client)
    assert everything == sorted(everything, reverse=True)
    (released,) = of(recipe, "result_released")
    entry = Entry.objects.get(index=released)
    own = [index for index in everything if Entry.objects.get(index=index).subject == recipe.identifier]
    for text in ("crashes", recipe.identifier, recipe.identifier[:8].upper()):
        assert shown(client, f"?q={text}") == own
    for text in (entry.entry_hash[:12], entry.details["result"][:12], released):
        assert shown(client, f"?q={text}") == [released]
    assert shown(client, "?action=result_released") == [released]
    budget = Entry.objects.get(action="budget_set", subject="population clinics")
    assert shown(client, "?population=clinics") == [*of(other, "recipe_published"), budget.index]
    assert "No public entry matches" in client.get(f"{PAGE}?q=nowhere").content.decode()


def test_timeline_tells_by_recipe_what_was_spent_and_what_came_of_it(client: Client) -> None:
    empty = client.get(PAGE).content.decode()
    assert "Nothing public has happened yet" in empty
    assert "No public entry matches" not in empty
    population_create(name="clinics", description="", budget=Budget(epsilon=20, delta=1e-3), actor=None)
    recipe = finished_recipe([[1]] * 12, cohort_size=10, name="Crashes", population="clinics")
    finished_recipe([[1]] * 2, cohort_size=10, name="Waits", population="clinics")
    simulated_recipe({0: 3, 1: 3}, name="Trial")
    context = client.get(PAGE).context
    told = {one.name: one for one in context["histories"]}
    assert told["Crashes"].population == "clinics"
    assert told["Crashes"].spent.epsilon == pytest.approx(2, rel=0.1)
    assert told["Crashes"].released.action == "result_released"
    assert told["Waits"].withheld.action == "result_withheld"
    assert told["Waits"].spent.is_returned
    assert told["Trial"].spent is None
    only = client.get(f"{PAGE}?population=clinics&q=waits").context["histories"]
    assert [one.name for one in only] == ["Waits"]
    # Each mark leads to its recipe. Nothing was withheld or announced: there is no row for it.
    page = reverse("recipe", args=[recipe.identifier])
    chart = client.get(f"{PAGE}?population=clinics&q=crashes").context["chart"]
    kinds = ["Published", "Closed", "Released", "Spent"]
    assert chart.wide.count(f'<a href="{page}" tabindex="-1">') == 4
    assert re.findall("<title>(.*?): Crashes</title>", chart.wide) == kinds
    assert 'role="group"' in chart.wide
    assert [trace["customdata"] for trace in json.loads(chart.data)["data"]] == [[page]] * 4
    assert [name for name in KINDS if f">{name}</text>" in chart.wide] == kinds


def test_timeline_draws_the_entries_of_its_page_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.transparency.views.PAGE_SIZE", 2)
    recipe = finished_recipe([[1]] * 6, name="Crashes")
    context = client.get(PAGE).context
    assert re.findall("<title>(.*?): Crashes</title>", context["chart"].wide) == ["Closed", "Released"]
    (told,) = context["histories"]
    assert told.published.index == of(recipe, "recipe_published")[0], "what is on another page is not missing"


def test_last_checkpoints_have_their_witnesses_and_the_quorum(client: Client, settings: Any) -> None:
    log, witness = log_verifier_key(), witness_verifier_key()
    settings.LOG_POLICY = Policy.parse(f"log {log.text}\nwitness w {witness.text}\nquorum w\n".encode())
    sizes = []
    for _ in range(3):
        published_recipe()
        sizes.append(integrate())
    older = SignedCheckpoint.objects.get(size=sizes[1])
    Cosignature.objects.create(checkpoint=older, witness=witness.name, line="— w line\n")
    answer = client.get(PAGE)
    shown = answer.context["checkpoints"]
    assert [(one.size, names, quorum) for one, names, quorum in shown if one.size] == [
        (sizes[2], [], "not met"),
        (sizes[1], ["w"], "met"),
        (sizes[0], [], "covered by a later checkpoint"),
    ]
    assert (
        answer.content.decode().count(f'<dt>Log of witness w</dt><dd class="hash">{witness.name}</dd>') == 1
    )


def test_feed_has_the_same_entries_once_each(client: Client) -> None:
    recipe = published_recipe(name='<b>&"')
    answer = client.get(reverse("public-log-feed"))
    (entry,) = ET.fromstring(answer.content).findall("{*}entry")  # noqa: S314  # our own
    said = f"The recipe “{recipe.name}” was published for the population “{recipe.population}”."
    assert entry.findtext("{*}summary") == said
    again = client.get(reverse("public-log-feed"), headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304


def test_recipes_in_rounds_are_called_by_their_names() -> None:
    members = recipe_members(steps=1, step_seconds=1, cohort_size=20, rounds=2, round_seconds=60)
    series = series_publish(members=members | {"public_input": True}, actor=None)
    input_publish(series=series, number=1, content={}, actor=None)
    entries = Entry.objects.filter(action__in=["rounds_published", "round_input_published"])
    assert [told.sentence for told in told_publicly(entries.order_by("index"))] == [
        "The recipe “Crash counter” in 2 rounds was published.",
        "The public input of round 1 was published.",
    ]


def test_every_public_action_has_a_sentence() -> None:
    of_others = {"batch_", "task_", "share_", "issuance_", "joint_"}
    names = {name for name, _ in public_action_choices()}
    assert {name for name in names - set(_SENTENCES) if not name.startswith(tuple(of_others))} == set()
    assert {action for actions in KINDS.values() for action in actions} <= names


def test_contradictions_are_shown_to_everybody_and_silence_to_auditors(client: Client) -> None:
    published_recipe()
    size, now = integrate(), timezone.now()
    assert 'class="error panel"' not in client.get(PAGE).content.decode()
    AskedWitness.objects.create(witness="slow.example", failing_since=now, last_error="it answered 503")
    assert "slow.example" not in client.get(PAGE).content.decode()
    for witness, seen, error in (
        ("ahead.example", size + 1, "it saw more"),
        ("apart.example", size, AskedWitness.DIFFERS),
    ):
        AskedWitness.objects.create(witness=witness, size=seen, failing_since=now, last_error=error)
    Fork.objects.create(origin="forked.example", size=7, known="one", other="two", found_at=now)
    words = page_text(client.get(PAGE))
    for name in ("ahead.example", "apart.example"):
        assert f"This log contradicts the witness {name}." in words
    assert "The log forked.example showed two states of 7 entries." in words
    client.force_login(auditor())
    assert "slow.example has not signed since" in page_text(client.get(PAGE))


@pytest.mark.parametrize("released", [True, pytest.param(False, marks=pytest.mark.long)])
def test_lines_to_paste_check_what_they_fetch_offline(client: Client, released: bool, tmp_path: Path) -> None:
    """The lines themselves, run by a shell. Only what `curl` would do, this process does."""
    recipe = finished_recipe([[1]] * 12, cohort_size=10) if released else published_recipe()
    integrate()
    page = client.get(reverse("recipe-verify", args=[recipe.identifier]))
    # Elsewhere than in its own directory, the software is found only after this line.
    assert "export PYTHONPATH=/…/clone PATH=/…/clone/.venv/bin:$PATH</pre>" in page.content.decode()
    fetching, showing, verifying = page.context["verify_lines"].split("\n")
    command, options, *words = shlex.split(fetching)
    assert (command, options) == ("curl", "-fsSo")
    for file, address in zip(words[::3], words[1::3], strict=True):
        answer: Any = client.get(address.removeprefix("http://testserver"))
        assert answer.status_code == 200
        (tmp_path / file).write_bytes(answer.getvalue() if answer.streaming else answer.content)

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        found = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(settings.BASE_DIR)}
        return subprocess.run(["sh", "-c", line], cwd=tmp_path, env=found, capture_output=True, text=True)

    assert f"log {log_verifier_key().text}\nquorum none\n" in run(showing).stdout
    done = run(verifying)
    assert (done.returncode, done.stderr) == (3, "")
    (open_,) = [line for line in done.stdout.splitlines() if line.startswith("OPEN")]
    assert "No witness vouches for it" in open_
    assert done.stdout.startswith(f"holds   {'Result of' if released else 'Recipe'} ")
    changed = tmp_path / ("result.json" if released else "recipe.json")
    document = json.loads(changed.read_text())
    document["recipe" if released else "document"]["cohort_size"] += 1
    changed.write_text(json.dumps(document))
    assert run(verifying).returncode == 1


def test_policy_of_the_site_names_its_witnesses_and_quorum(client: Client, settings: Any) -> None:
    key, witness = log_verifier_key(), witness_verifier_key()
    text = f"log {key.text}\nwitness w {witness.text} https://w.example/witness\ngroup g 1 w\nquorum g\n"
    settings.LOG_POLICY = Policy.parse(text.encode())
    answer = client.get("/log/policy")
    assert answer.content.decode().endswith(text)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    published_recipe()
    integrate()
    # A log that has begun keeps its name, and the policy says it.
    settings.LOG_ORIGIN = "another.example"
    assert Policy.parse(client.get("/log/policy").content) == settings.LOG_POLICY
