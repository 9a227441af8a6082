import json
from typing import Any

import pytest
from django.test import Client

from planner.api import BODY_BYTES, EXAMPLE
from web import turns

URL = "/api/v1/plan"


def post(client: Client, members: Any) -> Any:
    return client.post(URL, json.dumps(members), content_type="application/json")


def test_plan_of_the_documented_example_answers_everything(client: Client, sent: list[Any]) -> None:
    example = {**EXAMPLE, "targets": {"margin": 2.0}}
    answer = post(client, example)
    assert answer.status_code in (200, 202)
    content = answer.json()
    assert content["expectation"]["bytes"] == {"state": 66, "report": 146, "token": 485, "relayed": 1024}
    assert content["solution"]["found"]
    solved = content["solution"]["closest"]
    again = post(client, {**solved, "unknown": "epsilon", "targets": {"margin": 2.0}}).json()
    assert again["expectation"]["margin_points"] <= 2.0


def test_plan_is_answered_with_and_without_the_last_slash(client: Client, sent: list[Any]) -> None:
    members = {name: EXAMPLE[name] for name in ("statistic", "parameters", "population_size")}
    body = json.dumps(members)
    for url in (URL, f"{URL}/"):
        response = Client(enforce_csrf_checks=True).post(url, body, content_type="application/json")
        assert response.json()["solution"] is None


def changed(**changes: Any) -> dict[str, Any]:
    return {**EXAMPLE, **changes}


@pytest.mark.parametrize(
    ("members", "field"),
    [
        (changed(statistic="median"), "statistic"),
        (changed(statistic=["count_nonzero"]), "statistic"),
        (changed(population_size=0), "population_size"),
        (changed(population_size="10000"), "population_size"),
        (changed(population_size=True), "population_size"),
        (changed(population_size=10**400), "population_size"),
        (changed(parameters={}), "steps"),
        (changed(parameters=[1]), "parameters"),
        (changed(parameters={**EXAMPLE["parameters"], "epsilon": "1"}), "epsilon"),
        (changed(parameters={**EXAMPLE["parameters"], "epsilon": "\ud800"}), "epsilon"),
        (changed(parameters={**EXAMPLE["parameters"], "bandwidth": 1}), "bandwidth"),
        (changed(unknown="delta"), "unknown"),
        (changed(unknown=None), "unknown"),
        (changed(targets=None), "targets"),
        (changed(targets={}), "targets"),
        (changed(targets={"margin": -1}), "margin"),
        (changed(targets={"margin": 2, "aggregator_epsilon": 1}), "aggregator_delta"),
        (changed(colour="blue"), "colour"),
        ({}, "statistic"),
    ],
)
def test_plan_with_an_impossible_member_is_a_problem_that_names_it(
    client: Client, members: dict[str, Any], field: str
) -> None:
    response = post(client, members)
    assert response.status_code == 400
    assert response["Content-Type"].startswith("application/problem+json")
    assert response.json()["field"] == field
    assert response.json()["type"] == "/problems/invalid-parameter"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ("[" * 4_000, 400, "malformed-body"),
        ("[]", 400, "malformed-body"),
        ("{", 400, "malformed-body"),
        ('{"population_size": NaN}', 400, "malformed-body"),
        (" " * (BODY_BYTES + 1), 413, "body-too-large"),
    ],
)
def test_plan_with_a_body_that_cannot_be_read_is_refused(
    client: Client, body: str, status: int, kind: str
) -> None:
    response = client.post(URL, body, content_type="application/json")
    assert response.status_code == status
    assert response.json()["type"] == f"/problems/{kind}"


def test_plan_of_another_media_type_or_method_is_refused(client: Client) -> None:
    assert client.post(URL, {"statistic": "mean"}).status_code == 415
    assert client.get(URL).status_code == 405


def test_plan_while_too_many_are_computed_is_unavailable(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(turns, "_turns", type("Full", (), {"acquire": lambda *_, **__: False})())
    response = post(client, EXAMPLE)
    assert response.status_code == 503
    assert response.json()["type"] == "/problems/unavailable"


@pytest.mark.usefixtures("no_time")
def test_plan_that_is_not_finished_says_so_and_is_finished_by_the_task(
    client: Client, sent: list[Any]
) -> None:
    from planner.tasks import compute_plan

    first = post(client, EXAMPLE)
    assert (first.status_code, first.json()["state"], first.json()["complete"]) == (202, "computing", False)
    ((question, slot),) = sent
    compute_plan(question.as_dict(), slot)
    second = post(client, EXAMPLE)
    assert (second.status_code, second.json()["state"], second.json()["complete"]) == (200, "complete", True)
