import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from panapp.roles import role_named
from publishing.publication import recipe_close
from reports.models import StoredReports
from results.aggregation.models import Chunk, SubAggregate
from tests.factories import published_recipe

TOKEN = "t" * 40


def scrape(client: Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        sample.name: sample.value
        for family in families
        for sample in family.samples
        if sample.name.startswith("panapp_")
    }


def test_metrics_in_production_without_a_token_do_not_exist(client: Client, settings: Any) -> None:
    settings.LOCAL, settings.METRICS_TOKEN = False, None
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("header", [None, "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"])
def test_metrics_with_a_token_set_refuse_whoever_does_not_bear_it(
    client: Client, settings: Any, header: str | None, local: bool
) -> None:
    settings.LOCAL, settings.METRICS_TOKEN = local, TOKEN
    answer = client.get("/metrics", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert b"panapp_" not in answer.content


@pytest.mark.django_db
def test_metrics_of_an_empty_installation_are_all_zero(client: Client) -> None:
    assert set(scrape(client).values()) == {0.0}


@pytest.mark.django_db
def test_metrics_sum_up_what_waits_and_what_fails_and_name_no_recipe(client: Client) -> None:
    open_recipe = published_recipe()
    closed = recipe_close(recipe=published_recipe(name="Another"), actor=None)
    StoredReports.objects.create(recipe=open_recipe, count=3, payload=b"")
    StoredReports.objects.create(recipe=closed, count=4, payload=b"")
    overdue = timezone.now() - timedelta(seconds=100)
    Chunk.objects.create(recipe=closed, count=4, attempts=4, send_after=overdue)
    later = timezone.now() + timedelta(hours=1)
    Chunk.objects.create(recipe=closed, count=4, attempts=3, send_after=later)
    SubAggregate.objects.create(recipe=closed, reports=5, total=[5])
    client.get(f"/api/v1/recipes/{open_recipe.identifier}/")
    assert str(open_recipe.identifier) not in client.get("/metrics").content.decode()
    seen = {name: value for name, value in scrape(client).items() if value}
    assert seen.pop("panapp_chunk_overdue_seconds") == pytest.approx(100, abs=60)
    # Publishing and closing are entries that no key signed yet.
    assert seen.pop("panapp_log_overdue_seconds") > 0
    assert seen == {
        "panapp_recipes_open": 1,
        "panapp_recipes_closed_unreleased": 1,
        "panapp_reports_waiting": 7,
        "panapp_reports_summed": 5,
        "panapp_chunks": 2,
        "panapp_chunks_failing": 1,
    }


ROOT = Path(__file__).resolve().parent.parent.parent
MONITORING = ROOT / "docs" / "monitoring"
TROUBLESHOOTING = ROOT / "docs" / "operations" / "troubleshooting.md"
ADDED_BY_PROMETHEUS = {"instance", "job"}
WORDS = {"and", "bool", "by", "ignoring", "offset", "on", "or", "unless", "without"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return found


def expressions() -> list[str]:
    targets = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*(rule["expr"] for rule in rules()), *targets]


def names_in(expression: str) -> set[str]:
    """The metrics of a PromQL expression: what is neither label, text, duration, function nor word."""
    bare = re.sub(r"\b(?:by|without|on|ignoring)\s*\([^)]*\)|\{[^}]*\}|\[[^]]*\]", " ", expression)
    bare = re.sub(r"\boffset\s+\w+", " ", bare)
    return set(re.findall(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()", bare)) - WORDS


def selections_in(expression: str) -> set[tuple[str, str, str]]:
    """Name of the metric, label and value, wherever labels select."""
    found = re.findall(r"([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}", expression)
    return {
        (name, label, value)
        for name, labels in found
        for label, value in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', labels)
    }


def grouped_by(expression: str) -> set[str]:
    lists = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression)
    return {label.strip() for labels in lists for label in labels.split(",")}


@pytest.fixture
def exported(client: Client, settings: Any) -> dict[str, dict[str, set[str]]]:
    """By name, the labels of what installations of all roles export, each with the values seen."""
    seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    client.get("/health/live")
    for name in ("all-in-one", "shuffler", "issuer", "attester"):
        settings.ROLE = role_named(name)
        for family in text_string_to_metric_families(client.get("/metrics").content.decode()):
            for sample in family.samples:
                for label, value in sample.labels.items():
                    seen[sample.name][label].add(value)
                seen[sample.name].update()
    return seen


@pytest.mark.django_db
def test_names_and_labels_of_rules_and_dashboard_are_exported(
    exported: dict[str, dict[str, set[str]]],
) -> None:
    views = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    for expression in expressions():
        names = names_in(expression)
        assert names, expression
        assert names <= exported.keys(), names - exported.keys()
        labels = {label for name in names for label in exported[name]} | ADDED_BY_PROMETHEUS
        assert grouped_by(expression) <= labels, expression
        for name, label, value in selections_in(expression):
            assert label in exported[name], (name, label)
            if label == "view":
                assert set(value.split("|")) <= views
            if label == "status":
                assert any(re.fullmatch(value, str(status.value)) for status in HTTPStatus)
            if label == "state":
                assert set(value.split("|")) <= exported[name]["state"]


def test_every_rule_says_what_is_wrong_and_how_urgent_it_is() -> None:
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["labels"]["severity"] in ("page", "ticket")


def logged() -> Iterator[str]:
    for folder in ("collections", "panapp"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text()
            for node in ast.walk(ast.parse(text)) if "logger" in text else ():
                match node:
                    case ast.Call(
                        func=ast.Attribute(value=ast.Name(id="logger")),
                        args=[ast.Constant(value=str(event)), *_],
                    ):
                        yield event


def test_the_docs_explain_every_event_of_the_log_and_no_other() -> None:
    _, _, after = TROUBLESHOOTING.read_text().partition("\n## Logs\n")
    rows = re.findall(r"^\| (`.*?) \|", after.partition("\n## ")[0], re.MULTILINE)
    assert set(logged()) == {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
