"""The client that openapi-generator generates, as `client`: arguments are the site and a token."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from answering import RefusedError, answer_all
from client import (
    ApiClient,
    ApiException,
    Configuration,
    NewSimulation,
    Problem,
    Publish,
    RecipeFile,
    RecipesApi,
    Report,
    ReportProblem,
    ResultsApi,
    SimulationsApi,
)

connection = ApiClient(Configuration(host=sys.argv[1], access_token=sys.argv[2]))
recipes, results = RecipesApi(connection), ResultsApi(connection)
simulations = SimulationsApi(connection)


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except ApiException as error:
        problem = error.data
        if not isinstance(problem, Problem | ReportProblem):
            raise
        reason = problem.reason.value if isinstance(problem, ReportProblem) and problem.reason else ""
        raise RefusedError(f"{problem.status} {problem.type} {reason}".strip()) from None


def draft(recipe: dict[str, Any]) -> dict[str, Any]:
    file = RecipeFile.from_dict(recipe)
    assert file is not None
    made = recipes.draft_create(file)
    assert [one.number for one in recipes.drafts_list().results] == [made.number]
    return {"number": made.number, "reviewed": made.reviewed, "recipe": made.recipe.to_dict()}


def review(number: int) -> dict[str, Any]:
    read = recipes.draft_review(number)
    assert read.expected is not None
    return {
        "publishable": read.publishable,
        "epsilons": {one.model.value: one.epsilon for one in read.expected.guarantees},
        "closes_at": read.expected.closes_at.isoformat(),
    }


def publish(number: int, reviewed: str) -> dict[str, Any]:
    with refusals():
        recipe = recipes.recipe_publish(number, Publish(reviewed=reviewed))
    return {"id": recipe.id, "status": recipe.status, "document": recipe.document}


def report(recipe: str, content: dict[str, Any]) -> dict[str, Any]:
    sent = Report.from_dict(content)
    assert sent is not None
    with refusals():
        return {"status": recipes.report_submit(recipe, sent).status.value}


def close(recipe: str) -> dict[str, Any]:
    return {"status": recipes.recipe_close(recipe).status}


def read_result(recipe: str) -> dict[str, Any]:
    with refusals():
        read = recipes.result(recipe)
    return {"outcome": read.outcome.value, "estimate": read.estimate, "reports": read.reports}


def simulate(recipe: dict[str, Any], workload: dict[str, Any]) -> dict[str, Any]:
    asked = NewSimulation.from_dict({"recipe": recipe, "workload": workload, "public": True})
    assert asked is not None
    return {"id": str(simulations.simulation_start(asked).id)}


def follow(number: str) -> dict[str, Any]:
    read = simulations.simulation(UUID(number))
    return {"state": read.state.value, "recipe": read.recipe, "result": read.result}


def tables() -> dict[str, Any]:
    file = results.results_parquet()
    return {"csv": results.results_csv(), "parquet": bytes(file[:4]).decode()}


if __name__ == "__main__":
    answer_all(draft, review, publish, report, close, read_result, simulate, follow, tables)
