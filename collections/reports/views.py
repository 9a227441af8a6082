"""Where reports come in."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse

from recipes.models import Recipe
from reports.operations import RecipeNotOpenError, Rejection, reports_submit
from reports.parsing import BATCH_REPORTS, Decoder, decode_body, largest_body, read_batch
from reports.receiving import ReceivingView
from web.bodies import JSON_TYPE, MESSAGEPACK_TYPE, read_body
from web.problems import Problem


class _ReportsView(ReceivingView):
    what = "reports"
    media_types: tuple[str, ...]
    most_reports: int

    def read(self, request: HttpRequest, identifier: str) -> tuple[Recipe, object, Decoder]:
        recipe = self.recipe(identifier)
        servers = recipe.published.servers
        elsewhere = servers.where_reports_go(recipe.published.identifier)
        if elsewhere:
            kind, title = servers.reports_elsewhere
            raise Problem(kind, title, 409, elsewhere)
        body = read_body(request, largest_body(recipe.published, self.most_reports))
        content, decode = decode_body(body, request.content_type or "", accepted=self.media_types)
        return recipe, content, decode

    def submit(self, recipe: Recipe, reports: list[object], decode: Decoder) -> list[Rejection]:
        try:
            return reports_submit(recipe=recipe, reports=reports, decode=decode)
        except RecipeNotOpenError:
            raise self.not_open(recipe) from None


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
