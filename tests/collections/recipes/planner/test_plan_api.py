import json
from typing import Any

import pytest
from django.test import Client

from recipes.planner.api import BODY_BYTES, EXAMPLE
from tests.collections.storage.answers.scene import work, workers_answer

pytestmark = pytest.mark.django_db

URL = "/api/v1/plan"


def post(client: Client, members: Any) -> Any:
    return client.post(URL, json.dumps(members), content_type="application/json")


def test_plan_of_the_documented_example_answers_everything(client: Client, sent: list[str]) -> None:
    example = {**EXAMPLE, "targets": {"margin": 2.0}}
    answer = post(client, example)
    assert answer.status_code in (200, 202)
    content = answer.json()
    assert content["expectation"]["bytes"] == {"state": 66, "report": 146, "token": 485, "relayed": 1024}
    assert content["solution"]["found"]
    solved = content["solution"]["closest"]
    again = post(client, {**solved, "unknown": "epsilon", "targets": {"margin": 2.0}}).json()
    assert again["expectation"]["margin_points"] <= 2.0


def test_plan_of_an_unlikely_result_warns_and_keeps_its_fields(sent: list[str]) -> None:
    stranger = Client(enforce_csrf_checks=True)
    expected = post(stranger, changed(population_size=500)).json()["expectation"]
    assert expected["warning"].endswith("The largest cohort with which a result is likely is 500.")
    with_slash = stranger.post(f"{URL}/", json.dumps(EXAMPLE), content_type="application/json")
    likely = with_slash.json()["expectation"]
    assert likely["warning"] == ""
    assert expected.keys() == likely.keys()


def changed(**changes: Any) -> dict[str, Any]:
    return {**EXAMPLE, **changes}


def with_parameter(**changes: Any) -> dict[str, Any]:
    return changed(parameters={**EXAMPLE["parameters"], **changes})


def test_plan_with_an_impossible_member_is_a_problem_that_names_it(client: Client) -> None:
    for members, field in (
        (changed(statistic="median"), "statistic"),
        (changed(statistic=["count_nonzero"]), "statistic"),
        (changed(population_size=0), "population_size"),
        (changed(population_size="10000"), "population_size"),
        (changed(population_size=True), "population_size"),
        (changed(population_size=10**400), "population_size"),
        (changed(parameters={}), "parameters.steps"),
        (changed(parameters=[1]), "parameters"),
        (with_parameter(epsilon="1"), "parameters.epsilon"),
        (with_parameter(epsilon="\ud800"), "parameters.epsilon"),
        (with_parameter(bandwidth=1), "parameters.bandwidth"),
        (with_parameter(aggregator_epsilon=1), "parameters.aggregator_epsilon"),
        (
            {**with_parameter(guarantee="local", k=1_000, epsilon=0.0001), "statistic": "mean"},
            "parameters.epsilon",
        ),
        (changed(unknown="delta"), "unknown"),
        (changed(unknown=None), "unknown"),
        (changed(targets=None), "targets"),
        (changed(targets={}), "targets"),
        (changed(targets={"margin": -1}), "targets.margin"),
        (changed(targets={"margin": 2, "aggregator_epsilon": 1}), "targets.aggregator_delta"),
        (changed(targets={"size": 2}), "targets.size"),
        (changed(epsilon=1.0), "epsilon"),
        (changed(colour="blue"), "colour"),
        ({}, "statistic"),
    ):
        response = post(client, members)
        assert response.status_code == 400
        assert response["Content-Type"].startswith("application/problem+json")
        problem = response.json()
        assert (problem["field"], problem["type"]) == (field, "/problems/invalid-parameter")
    assert post(client, changed(epsilon=1.0)).json()["detail"] == "epsilon: belongs in parameters."
    assert post(client, changed(colour="blue")).json()["detail"] == "colour: is not a field of a plan."


def test_plan_with_a_body_or_method_that_cannot_be_is_refused(client: Client) -> None:
    for body, status, kind in (
        ("[" * 4_000, 400, "malformed-body"),
        ("[]", 400, "malformed-body"),
        ("{", 400, "malformed-body"),
        ('{"population_size": NaN}', 400, "malformed-body"),
        (" " * (BODY_BYTES + 1), 413, "body-too-large"),
    ):
        response = client.post(URL, body, content_type="application/json")
        assert (response.status_code, response.json()["type"]) == (status, f"/problems/{kind}")
    assert client.post(URL, {"statistic": "mean"}).status_code == 415
    assert client.get(URL).status_code == 405


def test_plan_is_unavailable_while_many_are_computed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    workers_answer(monkeypatch)
    response = post(client, EXAMPLE)
    assert response.status_code == 503
    assert response.json()["type"] == "/problems/unavailable"


def test_plan_that_is_not_finished_is_finished_by_a_worker(client: Client, sent: list[str]) -> None:
    first = post(client, EXAMPLE)
    assert (first.status_code, first.json()["state"], first.json()["complete"]) == (202, "computing", False)
    work(sent)
    second = post(client, EXAMPLE)
    assert (second.status_code, second.json()["state"], second.json()["complete"]) == (200, "complete", True)
