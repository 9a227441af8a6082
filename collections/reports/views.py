"""Where reports come in: plain views, because this is the hot path."""

import json
from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from panprivacy.recipe import format_time
from recipes.custody import CUSTODIES
from recipes.models import Recipe
from recipes.problems import Problem, malformed_body, method_not_allowed, not_found
from reports.operations import RecipeNotOpenError, Rejection, reports_submit
from reports.parsing import (
    BATCH_REPORTS,
    JSON_TYPE,
    MESSAGEPACK_TYPE,
    Decoder,
    decode_body,
    largest_body,
    read_batch,
)

logger = structlog.get_logger(__name__)


@method_decorator(csrf_exempt, name="dispatch")  # no session is read: there is nothing to forge
class _ReportsView(View):
    http_method_names = ("post", "options")
    media_types: tuple[str, ...]
    most_reports: int

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            if request.method not in {"POST", "OPTIONS"}:
                raise method_not_allowed("POST")
            return super().dispatch(request, *args, **kwargs)
        except Problem as problem:
            response = problem.response()
            if problem.status == 405:
                response["Allow"] = "POST, OPTIONS"
            return response
        except OperationalError:
            # Nothing was stored: the transaction is whole or not at all. Sending again is safe.
            logger.exception("database_unavailable")
            detail = "The reports were not stored. Send them again."
            response = Problem("unavailable", "The server is busy", 503, detail).response()
            response["Retry-After"] = "5"
            return response

    def read(self, request: HttpRequest, identifier: str) -> tuple[Recipe, object, Decoder]:
        recipe = Recipe.objects.filter(identifier=identifier).first()
        if recipe is None:
            raise not_found("No recipe has this identifier.")
        custody = CUSTODIES[recipe.published.trust]
        elsewhere = custody.upload_elsewhere(recipe.published)
        if elsewhere:
            kind, title = custody.elsewhere
            raise Problem(kind, title, 409, elsewhere)
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            raise Problem("length-required", "The body's length is missing", 411, "Send Content-Length.")
        most = largest_body(recipe.published, self.most_reports)
        try:
            # Looked at before anything is read. It is a number: the server has parsed it already.
            if int(request.headers.get("Content-Length") or 0) > most:
                raise RequestDataTooBig
            body = request.body
        except RequestDataTooBig:
            detail = f"A body for this recipe is at most {most:,} bytes."
            raise Problem("body-too-large", "The body is too large", 413, detail) from None
        except (OSError, ValueError):
            raise malformed_body("The body ended early.") from None
        content, decode = decode_body(body, request.content_type or "", accepted=self.media_types)
        return recipe, content, decode

    def submit(self, recipe: Recipe, reports: list[object], decode: Decoder) -> list[Rejection]:
        try:
            return reports_submit(recipe=recipe, reports=reports, decode=decode)
        except RecipeNotOpenError:
            recipe.refresh_from_db()
            ahead = recipe.status == Recipe.Status.PUBLISHED and recipe.opens_at > timezone.now()
            detail = f"It opens {format_time(recipe.opens_at)}." if ahead else "It is closed."
            raise Problem("recipe-not-open", "The recipe accepts no reports now", 409, detail) from None


class ReportView(_ReportsView):
    """POST one report."""

    media_types = (JSON_TYPE,)
    most_reports = 1

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe, content, decode = self.read(request, identifier)
        rejections = self.submit(recipe, [content], decode)
        if rejections:
            rejection = rejections[0]
            raise Problem(
                "report-rejected",
                "The report was rejected",
                409 if rejection.reason == "duplicate_nonce" else 422,
                rejection.detail,
                reason=rejection.reason,
            )
        return JsonResponse({"status": "accepted"}, status=201)


class ReportBatchView(_ReportsView):
    """POST up to 1,000 reports; a rejected one never takes the others down."""

    media_types = (JSON_TYPE, MESSAGEPACK_TYPE)
    most_reports = BATCH_REPORTS

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe, content, decode = self.read(request, identifier)
        reports = read_batch(content)
        rejections = self.submit(recipe, reports, decode)
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
