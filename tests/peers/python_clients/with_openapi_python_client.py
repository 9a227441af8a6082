"""The client that openapi-python-client generates, as `client`: arguments are the site and a token."""

import sys
from typing import Any, TypeVar
from uuid import UUID

from answering import RefusedError, answer_all
from client import AuthenticatedClient
from client.api.recipes import (
    draft_create,
    draft_review,
    drafts_list,
    recipe_close,
    recipe_publish,
    report_submit,
    result,
)
from client.api.results import results_csv, results_parquet
from client.api.simulations import simulation, simulation_start
from client.models import (
    Draft,
    DraftList,
    DraftReview,
    NewSimulation,
    Problem,
    Publish,
    Recipe,
    RecipeFile,
    Report,
    ReportAccepted,
    ReportProblem,
    Result,
    Simulation,
)
from client.types import File

T = TypeVar("T")

site = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)


def expected(kind: type[T], answer: object) -> T:
    if isinstance(answer, Problem | ReportProblem):
        reason = answer.reason.value if isinstance(answer, ReportProblem) and answer.reason else ""
        raise RefusedError(f"{answer.status} {answer.type_} {reason}".strip())
    assert isinstance(answer, kind), answer
    return answer


def draft(recipe: dict[str, Any]) -> dict[str, Any]:
    made = expected(Draft, draft_create.sync(client=site, body=RecipeFile.from_dict(recipe)))
    listed = expected(DraftList, drafts_list.sync(client=site)).results
    assert [one.number for one in listed] == [made.number]
    return {"number": made.number, "reviewed": made.reviewed, "recipe": made.recipe.to_dict()}


def review(number: int) -> dict[str, Any]:
    read = expected(DraftReview, draft_review.sync(number, client=site))
    assert read.expected is not None
    return {
        "publishable": read.publishable,
        "epsilons": {one.model.value: one.epsilon for one in read.expected.guarantees},
        "closes_at": read.expected.closes_at.isoformat(),
    }


def publish(number: int, reviewed: str) -> dict[str, Any]:
    made = recipe_publish.sync(number, client=site, body=Publish(reviewed=reviewed))
    recipe = expected(Recipe, made)
    return {"id": recipe.id, "status": recipe.status, "document": recipe.document.to_dict()}


def report(recipe: str, content: dict[str, Any]) -> dict[str, Any]:
    answer = report_submit.sync(recipe, client=site, body=Report.from_dict(content))
    return {"status": expected(ReportAccepted, answer).status.value}


def close(recipe: str) -> dict[str, Any]:
    return {"status": expected(Recipe, recipe_close.sync(recipe, client=site)).status}


def read_result(recipe: str) -> dict[str, Any]:
    read = expected(Result, result.sync(recipe, client=site))
    return {"outcome": read.outcome.value, "estimate": read.estimate, "reports": read.reports}


def simulate(recipe: dict[str, Any], workload: dict[str, Any]) -> dict[str, Any]:
    asked = NewSimulation.from_dict({"recipe": recipe, "workload": workload, "public": True})
    return {"id": str(expected(Simulation, simulation_start.sync(client=site, body=asked)).id)}


def follow(number: str) -> dict[str, Any]:
    read = expected(Simulation, simulation.sync(UUID(number), client=site))
    return {
        "state": read.state.value,
        "recipe": read.recipe,
        "result": None if read.result is None else read.result.to_dict(),
    }


def tables() -> dict[str, Any]:
    text = expected(str, results_csv.sync(client=site))
    file = expected(File, results_parquet.sync(client=site))
    return {"csv": text, "parquet": file.payload.read(4).decode()}


if __name__ == "__main__":
    answer_all(draft, review, publish, report, close, read_result, simulate, follow, tables)
