"""Prometheus' own tool checks what `/metrics` has, the expressions of the dashboard, and each alert rule: it
fires when it should, and not at the threshold or too early."""

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from panapp.roles import ROLES
from tests.factories import published_recipe
from tests.panapp.scene import ROOT
from tests.scenes import open_recipe

_PROGRAM = shutil.which("promtool")
pytestmark = [
    pytest.mark.skipif(_PROGRAM is None, reason="promtool is not installed (Debian: prometheus)"),
    pytest.mark.processes,
]

MONITORING = ROOT / "docs" / "monitoring"
ALERTS = MONITORING / "alerts.yml"

Series = Mapping[str, str]
"""Values by series, in the notation of promtool: `0+2x9` is 0, 2, …, 18; one value a minute."""

ANSWERS = "django_http_responses_total_by_status_view_method_total"
BUCKET = "django_http_requests_latency_seconds_by_view_method_bucket"


def seconds(below_a_quarter: str, view: str = "api-report") -> Series:
    """Times of reports: how many took at most 0.25 s, when 1,000 a minute took at most 0.5 s."""
    labels = f'view="{view}", method="POST"'
    return {
        f'{BUCKET}{{{labels}, le="0.25"}}': below_a_quarter,
        f'{BUCKET}{{{labels}, le="0.5"}}': "0+1000x60",
        f'{BUCKET}{{{labels}, le="+Inf"}}': "0+1000x60",
    }


def answers(refused: str, taken: str) -> Series:
    return {f'{ANSWERS}{{status="503"}}': refused, f'{ANSWERS}{{status="201"}}': taken}


def either(value: str, *names: str) -> list[Series]:
    """One of these series has the value, and the others are 0."""
    return [{other: value if other == name else "0x200" for other in names} for name in names]


def waiting(name: str) -> list[Series]:
    """Many that become more for less than an hour, many that become fewer, few that become more."""
    return [{name: values} for values in ("20000+1x90", "90000-1x90", "0+1x90")]


OVERDUE = ("panapp_chunk_overdue_seconds", "panapp_closing_overdue_seconds")
CLOCKS = ("panapp_clock_skew_seconds", "panapp_clock_ahead_seconds")
HELPER = (
    "panapp_helper_failing_seconds",
    "panapp_helper_request_overdue_seconds",
    "panapp_joint_key_failing_seconds",
)

FIRES: Mapping[str, tuple[str, list[Series]]] = {
    "BeatStandsStill": ("2m", either("61x9", *OVERDUE)),
    "WorkersTooFew": ("75m", [{"panapp_reports_waiting": "10001+1x75"}]),
    "ChunksFail": ("6m", [{"panapp_chunks_failing": "1x9"}]),
    "ResultLate": ("65m", [{"panapp_recipes_closed_unreleased": "1x65"}]),
    "ReportsUnavailable": ("15m", [answers("0+11x15", "0+989x15")]),
    "ReportsSlow": ("30m", [seconds("0+980x60"), seconds("0+980x60", view="leader-reports")]),
    "WebProcessFull": ("30m", [{"process_cpu_seconds_total": "0+49x30"}]),
    "ClockWrong": ("6m", [*either("11x9", *CLOCKS), *either("-11x9", CLOCKS[1])]),
    "ClockDoubted": ("16m", [{"panapp_clock_doubted": "1x20"}]),
    "LogNotSigned": ("2m", [{"panapp_log_overdue_seconds": "61x9"}]),
    "LogStopped": ("0m", [{"panapp_log_stopped": "1x9"}]),
    "WitnessFails": ("0m", [{"panapp_log_witness_failing_seconds": "601x9"}]),
    "LogForked": ("15m", [{"panapp_log_forks": "1x9 2x9"}]),
    "HelperFails": (
        "2m",
        [either("601x9", *HELPER)[0], either("61x9", *HELPER)[1], either("601x9", *HELPER)[2]],
    ),
    "TwoServerReportsWait": ("75m", [{"panapp_task_reports_waiting": "10001+1x75"}]),
    "ShufflerFails": ("0m", [{"panapp_shuffler_failing_seconds": "601x9"}]),
    "BatchNotFetched": (
        "61m",
        [{'panapp_batches{state="full"}': "1x65"}, {'panapp_batches{state="shuffled"}': "1x65"}],
    ),
    "TokensUntold": ("73h", [{"panapp_attester_untold": "1x4400"}]),
}
"""When each rule fires. Any one of its series suffices."""

SILENT: Mapping[str, tuple[str, list[Series]]] = {
    "BeatStandsStill": ("9m", [dict.fromkeys(OVERDUE, "60x9"), {OVERDUE[0]: "61x8 0x9"}]),
    "WorkersTooFew": ("59m", waiting("panapp_reports_waiting")),
    "ChunksFail": ("9m", [{"panapp_chunks_failing": "0x5 1x9"}]),
    "ResultLate": (
        "59m",
        [{"panapp_recipes_closed_unreleased": values} for values in ("1x90", "1x30 0 1x60")],
    ),
    "ReportsUnavailable": ("15m", [answers("0+9x15", "0+991x15")]),
    "ReportsSlow": ("30m", [seconds("0+995x60"), seconds("0+0x60", view="api-recipes")]),
    "WebProcessFull": ("30m", [{f'process_cpu_seconds_total{{instance="{n}"}}': "0+47x30" for n in "ab"}]),
    "ClockWrong": ("9m", [{CLOCKS[0]: "10x9", CLOCKS[1]: "-10x9"}]),
    "ClockDoubted": ("16m", [{"panapp_clock_doubted": "0x4 1x20"}]),
    "LogNotSigned": ("9m", [{"panapp_log_overdue_seconds": "60x9"}]),
    "LogStopped": ("9m", [{"panapp_log_stopped": "0x9"}]),
    "WitnessFails": ("9m", [{"panapp_log_witness_failing_seconds": "600x9"}]),
    "LogForked": ("25m", [{"panapp_log_forks": "2x30"}]),
    "HelperFails": ("9m", [{HELPER[0]: "600x9", HELPER[1]: "60x9", HELPER[2]: "600x9"}]),
    "TwoServerReportsWait": ("59m", waiting("panapp_task_reports_waiting")),
    "ShufflerFails": ("9m", [{"panapp_shuffler_failing_seconds": "600x9"}]),
    "BatchNotFetched": ("61m", [{'panapp_batches{state="filling"}': "1x65"}]),
    "TokensUntold": ("71h", [{"panapp_attester_untold": "1x4400"}]),
}


@cache
def rules() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def promtool(*arguments: str | Path, text: str = "") -> list[str]:
    """What it complains about, and how it ended if not well."""
    assert _PROGRAM is not None
    done = subprocess.run([_PROGRAM, *arguments], input=text, capture_output=True, text=True, check=False)
    return [done.stdout + done.stderr] if done.returncode else done.stderr.splitlines()


def run(tests: Iterable[dict[str, Any]], folder: Path) -> list[str]:
    """Rules are evaluated every minute, or every hour in tests of days."""
    of_days = defaultdict[bool, list[dict[str, Any]]](list)
    for test in tests:
        of_days[test["alert_rule_test"][0]["eval_time"].endswith("h")].append(test)
    files = []
    for long, each in of_days.items():
        files.append(folder / f"{'hours' if long else 'minutes'}.yml")
        every = {"evaluation_interval": "1h" if long else "1m"}
        files[-1].write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], **every, "tests": each}))
    return promtool("test", "rules", *files)


def alone(firing: str, at: str, series: Series) -> dict[str, Any]:
    """A test that at a time this rule fires, or none, and no other."""
    return {
        "name": f"{firing} {series}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": at,
                "alertname": name,
                "exp_alerts": [{"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]}]
                if name == firing
                else [],
            }
            for name, rule in rules().items()
        ],
    }


@pytest.fixture
def scraped(client: Client, settings: Any) -> dict[str, str]:
    """What a site with data exports, by role."""
    open_recipe([0, 1, 2])
    client.get(f"/api/v1/recipes/{published_recipe(name='Another').identifier}/")
    found = {}
    for name, role in ROLES.items():
        settings.ROLE = role
        found[name] = client.get("/metrics").content.decode()
    return found


@pytest.mark.django_db
def test_metrics_of_every_role_pass_the_check_of_prometheus(scraped: dict[str, str]) -> None:
    assert {name: promtool("check", "metrics", text=text) for name, text in scraped.items()} == {
        name: [] for name in ROLES
    }


def test_rules_and_expressions_of_the_dashboard_pass_its_check(tmp_path: Path) -> None:
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    recorded = [{"record": f"panel:{n}", "expr": text} for n, text in enumerate(expressions)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}))
    assert promtool("check", "rules", ALERTS, tmp_path / "panels.yml") == []


def test_every_rule_fires_when_it_should_and_alone(tmp_path: Path) -> None:
    assert FIRES.keys() == rules().keys()
    firing = [alone(name, at, series) for name, (at, each) in FIRES.items() for series in each]
    assert run(firing, tmp_path) == []


def test_no_rule_fires_at_its_threshold_or_too_early(tmp_path: Path) -> None:
    assert SILENT.keys() == rules().keys()
    silent = [alone("", at, series) for at, each in SILENT.values() for series in each]
    assert run(silent, tmp_path) == []


@pytest.mark.django_db
def test_no_rule_fires_on_a_site_that_is_well(scraped: dict[str, str], tmp_path: Path) -> None:
    well = {}
    for text in scraped.values():
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ", ".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
                well[f"{sample.name}{{{labels}}}"] = f"{sample.value}x200"
    assert len(well) > 100
    assert run([alone("", "180m", well)], tmp_path) == []
