"""Alert rules and dashboard ask for what `/metrics` exports, by names and labels that exist."""

import json
import re
from collections import defaultdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import get_resolver
from prometheus_client.parser import text_string_to_metric_families

from panapp.roles import role_named

ROOT = Path(__file__).resolve().parent.parent.parent
MONITORING = ROOT / "docs" / "monitoring"
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


def test_expression_is_taken_apart() -> None:
    expression = 'sum by (le) (rate(some_bucket{view="a", code=~"4..|5.."}[5m])) > 0.5e3 and up offset 10m'
    assert names_in(expression) == {"some_bucket", "up"}
    assert selections_in(expression) == {("some_bucket", "view", "a"), ("some_bucket", "code", "4..|5..")}
    assert grouped_by(expression) == {"le"}


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


def test_panels_have_identifiers_of_their_own() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
