"""Public results in an OpenTelemetry collector that is not ours (Rotel, in Rust): each value once."""

import gzip
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from notifications import otlp
from notifications.delivery import deliveries_take, delivery_send
from notifications.models import Delivery, Subscription
from notifications.operations import webhook_create
from panprivacy.formats.times import parse_time
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.documents import signed_document
from simulations.installation.ports import HOST, held_port
from simulations.installation.services import wait_until
from tests.clock import time_is
from tests.collections.notifications.scene import HOOK, read_all
from tests.collections.results.test_tables import rows
from tests.factories import recipe_members, report_of_values, submitted
from tests.network import losing_answers
from tests.patience import PATIENCE
from tests.processes import services_on_test_database
from tests.scenes import (
    account,
    closed_stream,
    finish,
    finished_recipe,
    finished_round,
    open_recipe,
    open_stream,
    simulated_recipe,
)

ROOT = Path(__file__).parents[3]


class Collector:
    """Rotel, which prints every point that it takes, on a port of this machine that is its own until it
    starts."""

    def __init__(self, folder: Path) -> None:
        self._held = ExitStack()
        self.port, self._other = (self._held.enter_context(held_port()) for _ in range(2))
        self._printed = folder / "printed"
        self._printed.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        rotel = pytest.importorskip("rotel", reason="rotel is not installed")
        command = [
            str(Path(rotel.__file__).with_name("rotel-agent")),
            *("start", "--exporter", "blackhole", "--debug-log", "metrics"),
            *("--debug-log-verbosity", "detailed"),
            *("--otlp-http-endpoint", f"{HOST}:{self.port}"),
            *("--otlp-grpc-endpoint", f"{HOST}:{self._other}"),
        ]
        self._held.close()
        with self._printed.open("ab") as printed:
            self._process = subprocess.Popen(command, stdout=printed, stderr=printed)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        pytest.fail(self._printed.read_text())

    def stop(self) -> None:
        """What it took is printed before it ends."""
        self._held.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None

    def points(self) -> list[dict[str, Any]]:
        """Attributes, also of their resource, time and value of all that it took; it is stopped."""
        self.stop()
        found: list[dict[str, Any]] = []
        resource: dict[str, Any] = {}
        here = resource
        for line in self._printed.read_text().splitlines():
            if line.startswith("ResourceMetrics #"):
                here = resource = {}
            elif line.startswith("NumberDataPoints #"):
                here = dict(resource)
                found.append(here)
            elif match := re.fullmatch(r"     -> (\S+): (\w+)\((.*)\)", line):
                here[match[1]] = KINDS[match[2]](match[3])
            elif match := re.fullmatch(r"(Timestamp|Value): (.*)", line):
                here[match[1]] = float(match[2])
        return found


KINDS = {"Str": str, "Double": float, "Int": int, "Bool": lambda text: {"true": True, "false": False}[text]}
"""Of values of attributes, as the collector prints them."""


@pytest.fixture
def collector(tmp_path: Path, settings: LazySettings) -> Iterator[Collector]:
    """Not started yet."""
    made = Collector(tmp_path)
    settings.OTLP_ENDPOINT, settings.OTLP_HEADERS = f"http://{HOST}:{made.port}", {"authorization": "secret"}
    yield made
    made.stop()


@pytest.fixture
def pass_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Lets time pass."""
    running, ahead = timezone.now, [timedelta()]
    time_is(monkeypatch, lambda: running() + ahead[0])

    def by(passed: timedelta) -> None:
        ahead[0] += passed

    return by


class Network:
    """Answers every request with this status and body, and remembers them."""

    def __init__(self, status: int = 200, body: bytes = b"") -> None:
        self.answer = status, {"Location": "https://elsewhere.example/"}, body
        self.asked: list[tuple[str, str, Mapping[str, str], bytes]] = []

    def __call__(self, *request: Any) -> tuple[int, Mapping[str, str], bytes]:
        self.asked.append(request)
        return self.answer


def sent_histogram(**changes: Any) -> Recipe:
    values = [[1, 0, 0], [0, 1, 0]] * 3
    return finished_recipe(values, statistic="histogram", k=2, cohort_size=2, **changes)


def send_due(transport: Any = None) -> int:
    """Send all that is due, some at a time, as workers do; how many attempts that took."""
    read_all()
    attempts = 0
    while taken := deliveries_take():
        for one in taken:
            delivery_send(delivery=one, **({"transport": transport} if transport else {}))
        attempts += len(taken)
    return attempts


def results() -> list[tuple[str, str]]:
    """What is to be sent, and how that goes."""
    found = Delivery.objects.filter(purpose="result").order_by("pk")
    return [(one.release.recipe.name, one.state) for one in found.select_related("release__recipe")]


def expected(client: Client) -> list[dict[str, Any]]:
    """The table of all public results, as points."""
    points = []
    for row in rows(client):
        signed = signed_document(Recipe.objects.get(identifier=row["recipe"]).release)
        low, high = float(row["low"]), float(row["high"])
        point = {
            "service.name": "panapp",
            "service.instance.id": "https://telemetry.example",
            "recipe.id": row["recipe"],
            "recipe.name": signed["recipe"]["name"],
            "event": signed["event"],
            "round": int(row["round"]) if row["round"] else None,
            "segment": row["segment"] or None,
            "value": row["value"],
            "unit": signed["unit"],
            **{name: float(row[name]) for name in ("low", "high", "level", "epsilon", "delta") if row[name]},
            "more_than_noise": not low <= 0 <= high,
            "simulation": signed["simulation"],
            "Timestamp": parse_time("at", row["released_at"]).timestamp() * 1e9,
            "Value": float(row["estimate"]),
        }
        points.append({name: value for name, value in point.items() if value is not None})
    return points


@pytest.mark.processes
def test_collector_gets_each_public_value_once_though_down_at_first(
    collector: Collector,
    pass_by: Callable[[timedelta], None],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otlp, "POINTS_AT_ONCE", 2)  # A result needs two requests.
    finished_round()
    sent_histogram(name="Histogram")
    private = recipe_publish_file(members=recipe_members(), actor=None, simulation=True, private=True)
    submitted(private, *(report_of_values(private, [1]) for _ in range(6)))
    assert finish(private).release.outcome == "released"
    finished_recipe([[1]], cohort_size=5, name="Withheld")
    simulated_recipe({0: 3, 1: 3}, name="Simulated", cohort_size=2)
    closed_stream(
        open_stream([1], name="No ε", statistic="pan_histogram", delta=1e-6, universe_size=2, table_size=2)
    )

    assert send_due() == 4
    assert {state for _, state in results()} == {"waiting"}
    collector.start()
    assert send_due() == 0, "not before the pause is over"
    pass_by(timedelta(seconds=7))
    assert send_due() == 4
    pass_by(timedelta(hours=7))
    assert send_due() == 0
    assert {state for _, state in results()} == {"delivered"}

    points = collector.points()
    wanted = expected(client)
    assert len(wanted) == 3 + 3 + 1 + 2
    assert len([one for one in wanted if "epsilon" not in one and "delta" not in one]) == 2
    assert {"old", "new"} < {one.get("segment") for one in wanted}
    assert {one["more_than_noise"] for one in wanted} == {True, False}
    assert _in_order(points) == _in_order(wanted)
    assert private.identifier not in str(points)


@pytest.mark.processes
@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_running_workers_release_and_send_what_devices_reported(collector: Collector, client: Client) -> None:
    environment = {"PANAPP_OTLP_ENDPOINT": f"http://{HOST}:{collector.port}"}
    found = Delivery.objects.filter(purpose="result")
    with services_on_test_database(environment=environment) as services:
        recipe = open_recipe([0, 1] * 30, name="Run", cohort_size=20)
        recipe_close(recipe=recipe, actor=None)
        assert wait_until(found.filter(attempts_made=1).exists, PATIENCE)
        collector.start()
        assert wait_until(found.filter(state="delivered").exists, PATIENCE)
    (wanted,) = expected(client)
    assert _in_order(collector.points()) == _in_order([{**wanted, "service.instance.id": services.base_url}])


def test_collector_that_is_down_holds_nothing_up_for_a_day(
    collector: Collector, pass_by: Callable[[timedelta], None]
) -> None:
    webhook_create(user=account("ana"), url=HOOK, events=["result.released"])
    sent_histogram(name="Lost")
    receiver = Network(204)
    for hours in (0, *[1] * 25):
        pass_by(timedelta(hours=hours))
        send_due(receiver)
    assert len(receiver.asked) == 1, "the webhook came at once"
    assert results() == [("Lost", "failed")]
    row = Delivery.objects.get(purpose="result")
    assert row.attempts.count() > 5
    assert {one.problem for one in row.attempts.all()} == {"no answer: the connection was refused"}
    pass_by(timedelta(days=6))
    sent_histogram(name="Later")
    send_due(receiver)
    assert results() == [("Lost", "failed"), ("Later", "waiting")], "it is never switched off"


def test_result_whose_answer_is_lost_is_sent_again_with_the_same_points(
    settings: LazySettings, pass_by: Callable[[timedelta], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OTLP_ENDPOINT = "https://collector.example"
    network = Network()
    monkeypatch.setattr(otlp, "otlp_transport", losing_answers(network, "POST"))
    sent_histogram(name="Lost")
    for _ in range(2):
        send_due()
        pass_by(timedelta(hours=1))
    first, second = (gzip.decompress(body) for _, _, _, body in network.asked)
    assert first == second != b""
    assert results() == [("Lost", "waiting")]


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (307, "a redirect, which is not followed"),
        *((status, f"refused with status {status}") for status in (503, 401, 410)),
    ],
)
def test_result_that_is_not_taken_is_tried_once_and_waits(
    status: int, problem: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exporter itself takes a redirect for success, and repeats a request that gets 503."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=1")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    settings.OTLP_ENDPOINT, settings.OTLP_HEADERS = "https://collector.example/a", {"x-own": "secret"}
    network = Network(status)
    monkeypatch.setattr(otlp, "otlp_transport", network)
    sent_histogram(name="Refused")
    assert send_due() == 1
    ((method, url, headers, _),) = network.asked
    assert (method, url) == ("POST", "https://collector.example/a/v1/metrics")
    assert (headers["x-own"], headers["Content-Type"]) == ("secret", "application/x-protobuf")
    assert "x-other" not in {name.lower() for name in headers}
    assert results() == [("Refused", "waiting")]
    attempt = Delivery.objects.get(purpose="result").attempts.get()
    assert (attempt.status, attempt.problem) == (status, problem)


def test_values_that_the_collector_refuses_are_not_sent_again(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol forbids it: the collector has taken the others, and is sent those that follow."""
    settings.OTLP_ENDPOINT = "https://collector.example"
    answer = otlp.ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = 1
    network = Network(200, answer.SerializeToString())
    monkeypatch.setattr(otlp, "otlp_transport", network)
    monkeypatch.setattr(otlp, "POINTS_AT_ONCE", 2)
    sent_histogram(name="Partly")
    send_due()
    assert (results(), len(network.asked)) == ([("Partly", "failed")], 2)
    assert Delivery.objects.get(purpose="result").attempts.get().problem == "2 values were refused"


def test_nothing_is_sent_without_a_collector_nor_after_it_is_taken_away(settings: LazySettings) -> None:
    sent_histogram(name="Before")
    read_all()
    settings.OTLP_ENDPOINT = "https://collector.example"
    sent_histogram(name="Since")
    read_all()
    assert results() == [("Since", "waiting")]
    settings.OTLP_ENDPOINT = ""
    send_due()
    assert results() == [("Since", "failed")]


def test_private_result_is_never_made_into_metrics(settings: LazySettings) -> None:
    settings.OTLP_ENDPOINT = "https://collector.example"
    private = recipe_publish_file(members=recipe_members(), actor=None, simulation=True, private=True)
    submitted(private, *(report_of_values(private, [1]) for _ in range(6)))
    release = finish(private).release
    network = Network()
    with pytest.raises(Recipe.DoesNotExist):
        otlp.result_send(release, network)
    read_all()
    assert (results(), network.asked) == ([], [])


def test_only_the_collector_has_no_account_and_there_is_one(settings: LazySettings) -> None:
    settings.OTLP_ENDPOINT = "https://collector.example"
    for name in ("One", "Two"):
        sent_histogram(name=name)
        read_all()
    own = Subscription.objects.get()
    assert [one.subscription for one in Delivery.objects.all()] == [own, own]
    for changes in ({"channel": "webhook"}, {"user": account("ana")}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Subscription.objects.filter(pk=own.pk).update(**changes)
    own.delete()
    assert not Delivery.objects.exists()


def test_page_names_every_attribute_of_a_point() -> None:
    page = (ROOT / "docs/opentelemetry.md").read_text()
    section = page.partition("## Results as metrics")[2].partition("\n## ")[0]
    named = re.findall(r"`([^`]+)`", section.partition("Its attributes")[2].partition("\n\n")[0])
    points = [otlp.metrics_of(one.release) for one in (finished_round(), sent_histogram())]
    found = [point for one in points for point in _points(one)]
    assert sorted(named) == sorted({name for point in found for name in point.attributes})
    assert f"`{otlp.METRIC}`" in section


def _in_order(points: list[dict[str, Any]]) -> list[dict[str, tuple[type, Any]]]:
    """With the types of attributes: 0 is not 0.0 to a collector."""
    places = sorted(points, key=lambda one: (one["recipe.id"], one.get("segment", ""), one["value"]))
    return [{name: (type(value), value) for name, value in one.items()} for one in places]


def _points(data: otlp.MetricsData) -> list[otlp.NumberDataPoint]:
    (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
    return list(metric.data.data_points)
