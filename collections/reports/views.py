"""The ingest endpoint for reports, and the base of the one for items. This is the hot path: plain views."""

import json
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views import View
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.views import APIView

from panprivacy.encryption.interface import REPORT_NONCE_BYTES
from panprivacy.formats.times import format_time
from recipes.access import may_see
from recipes.converters import UNKNOWN, stored_recipe
from recipes.models import Recipe
from reports import openapi
from reports.operations import reports_submit
from reports.parsing import BATCH_REPORTS, decode_body, largest_body, read_batch
from reports.store import RecipeNotOpenError, Rejection
from storage.group_commit import QueueFullError, RowHeldError
from storage.kept_rows import KeptRows
from web.bodies import JSON_TYPE, read_body, require_json
from web.failures import FAILURES, failure_response
from web.openapi import example, problem_response
from web.problems import Problem, method_not_allowed, not_found, unavailable
from web.scopes import PUBLIC, Scopes

RECIPES: KeptRows[str, Recipe] = KeptRows(
    stored_recipe, lambda recipe: recipe.status == Recipe.Status.PUBLISHED
)
"""Recipes that were open when they were read. Whether one still is open is checked when its reports are
stored.
"""


@extend_schema(parameters=[openapi.IDENTIFIER])
class ReceivingView(APIView):
    """POST, answered with a problem document if something is wrong.

    An APIView only to be described as one: its `dispatch` is a plain view's, which parses nothing.
    """

    scopes: ClassVar[Scopes] = {"POST": PUBLIC}
    http_method_names = ("post", "options")
    what: str
    """What is sent here, e.g. `reports`."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            if request.method == "OPTIONS":
                return View.options(self, request)
            if request.method != "POST":
                raise method_not_allowed("POST")
            return View.dispatch(self, request, *args, **kwargs)
        except FAILURES as failure:
            return failure_response(failure, methods=("POST", "OPTIONS"), undone=self.undone)

    @property
    def undone(self) -> str:
        """What the operator must know and do if the server cannot work, in sentences."""
        return f"The {self.what} were not stored. Send them again."

    def recipe(self, request: HttpRequest, identifier: str) -> Recipe:
        """The recipe of that identifier, as it was at some time since it was published; Problem if there is
        none for the client."""
        recipe = RECIPES.get(identifier)
        if not may_see(request, recipe):
            raise not_found(UNKNOWN)
        return recipe

    def not_open(self, recipe: Recipe) -> Problem:
        """The answer to what came before the recipe opened, or after it closed."""
        identifier = recipe.published.identifier
        recipe = RECIPES.read_again(identifier)
        opens_at = recipe.published.opens_at
        ahead = recipe.status == Recipe.Status.PUBLISHED and opens_at > timezone.now()
        detail = f"It opens {format_time(opens_at)}." if ahead else "It is closed."
        return Problem("recipe-not-open", f"The recipe accepts no {self.what} now", 409, detail)


_ACCEPTED = json.dumps({"status": "accepted"})


class _ReportsView(ReceivingView):
    what = "reports"
    most_reports: int

    def read(self, request: HttpRequest, identifier: str) -> tuple[Recipe, object]:
        recipe = self.recipe(request, identifier)
        servers = recipe.published.servers
        if servers.upload_refusal is not None:
            raise Problem(*servers.upload_refusal, 409, servers.upload_sentence)
        if servers.report_format is None:
            elsewhere = (
                "It is about a stream of items, not of reports: they are sent to "
                f"/api/v1/recipes/{recipe.published.identifier}/items/."
            )
            raise Problem("recipe-of-a-curator", "The recipe is about a stream of items", 409, elsewhere)
        require_json(request)
        return recipe, decode_body(read_body(request, largest_body(recipe.published, self.most_reports)))

    def submit(self, recipe: Recipe, reports: list[object]) -> list[Rejection]:
        try:
            return reports_submit(recipe=recipe, reports=reports)
        except RecipeNotOpenError:
            raise self.not_open(recipe) from None
        except QueueFullError:
            raise unavailable(f"Too many {self.what} arrive at once. {self.undone}") from None
        except RowHeldError:
            raise unavailable(f"The recipe is being changed. {self.undone}") from None


def _rejected(reason: str, detail: str) -> Problem:
    status = 409 if reason == "duplicate_nonce" else 422
    return Problem("report-rejected", "The report was rejected", status, detail, reason=reason)


class ReportView(_ReportsView):
    """A report that is sent again after a lost answer counts once: the answer is 409. If reports are in
    object storage, it is 201 again."""

    most_reports = 1

    @extend_schema(
        operation_id="report_submit",
        summary="Submit one report",
        request=openapi.REPORT,
        responses={
            201: OpenApiResponse(
                openapi.ReportAcceptedSerializer, "The report counts.", example({"status": "accepted"})
            ),
            **openapi.REFUSALS,
            409: problem_response(
                "The recipe accepts no reports now, or this report was accepted already.",
                _rejected("duplicate_nonce", "A report with this nonce was accepted already."),
                openapi.ReportProblemSerializer,
            ),
            413: problem_response("The body is larger than 16 MiB."),
            422: problem_response(
                "The report was rejected.",
                _rejected("wrong_nonce_size", f"A nonce has {REPORT_NONCE_BYTES} bytes, not 12."),
                openapi.ReportProblemSerializer,
            ),
        },
    )
    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe, content = self.read(request, identifier)
        rejections = self.submit(recipe, [content])
        if rejections:
            raise _rejected(rejections[0].reason, rejections[0].detail)
        return HttpResponse(_ACCEPTED, JSON_TYPE, 201)


class ReportBatchView(_ReportsView):
    """A rejected report never takes its batch down. Sending a batch again is safe."""

    most_reports = BATCH_REPORTS

    @extend_schema(
        operation_id="report_batch_submit",
        summary=f"Submit up to {BATCH_REPORTS:,} reports",
        request=openapi.REPORT_BATCH,
        responses={
            200: OpenApiResponse(
                openapi.ReportBatchResultSerializer,
                "Every report that is not listed as rejected counts.",
                example({"accepted": 999, "rejected": [openapi.REJECTED]}),
            ),
            **openapi.REFUSALS,
            400: problem_response("The body cannot be read, or is not a batch."),
            409: problem_response("The recipe accepts no reports now."),
            413: problem_response("The body is larger than 16 MiB."),
        },
    )
    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe, content = self.read(request, identifier)
        reports = read_batch(content)
        rejections = self.submit(recipe, reports)
        return HttpResponse(
            json.dumps(
                {
                    "accepted": len(reports) - len(rejections),
                    "rejected": [
                        {"index": rejection.index, "reason": rejection.reason, "detail": rejection.detail}
                        for rejection in rejections
                    ],
                }
            ),
            content_type=JSON_TYPE,
        )
