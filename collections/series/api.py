"""Series for programs: reading is public them, analysts publish, stop and mark them."""

from typing import Any, ClassVar

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from panprivacy.formats.times import parse_time
from publishing.approvals_api import ApprovalSerializer
from recipes.drafts_api import BODY_BYTES, RECIPE_FILE, REFUSED, RecipeFileSerializer
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.planner.guarantees import NotComputedError
from recipes.scopes import RECIPES_WRITE
from results.api_shapes import ChangeSerializer, EndsSerializer
from series.errors import SeriesStateError
from series.models import NOTE_LENGTH, Mark, Round, RoundsDocument, Series
from series.operations import series_approval_ask, series_mark, series_publish, series_stop
from series.selectors import (
    MOST_NUMBERS,
    MOST_ON_PAGE,
    MOST_RESULTS,
    Point,
    fitting,
    rounds_of,
    segment_to_follow,
    series_list,
    series_visible_to,
    trend,
)
from web.json_requests import read_object
from web.openapi import CURSOR, example, problem_response
from web.paging import api_cut, api_results
from web.problems import conflict, row_found
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ExactSerializer, ListedField, SecondsField, paged

SERIES_FILE = {**RECIPE_FILE, "every": "week", "time_zone": "Europe/Berlin", "rounds": 4}
MARK = {"note": "version 2.1 released", "at": "2026-01-31T12:00:00Z"}

SEGMENT = OpenApiParameter(
    "segment",
    str,
    description="Label of one segment, whose values and changes are shown; default: all devices.",
)

PAGES = (
    f"An answer has at most {MOST_ON_PAGE} rounds, the newest of all, and at most {MOST_RESULTS} that were "
    f"asked; fewer if results have many values: {MOST_NUMBERS:,} in all. `next` leads to older ones."
)


class SeriesFileSerializer(RecipeFileSerializer):
    """The fields of a series file: those of a recipe file, and `every` with `rounds` or `until`, and perhaps
    `time_zone`; or `round_seconds` with `rounds` or `donation_rounds`."""

    every = serializers.CharField(
        required=False,
        help_text="`day`, `week`, `month`, or a number of seconds. Without it, rounds follow one another.",
    )
    time_zone = serializers.CharField(
        required=False,
        help_text="In which days, weeks and months are counted: a name of the IANA database, such as "
        "`Europe/Berlin`. UTC if left out.",
    )
    rounds = serializers.IntegerField(
        required=False, help_text="How many; or `until`, or in a recipe in rounds `donation_rounds`."
    )
    round_seconds = serializers.IntegerField(
        required=False, help_text="Of a recipe in rounds: how long each takes reports."
    )
    donation_rounds = serializers.IntegerField(
        required=False,
        help_text="Instead of `rounds`: each device reports in at most one of this number of rounds.",
    )
    public_input = serializers.BooleanField(
        required=False, help_text="Whether each round waits for its public input."
    )
    until = serializers.DateTimeField(required=False, help_text="No round opens then or later; or `rounds`.")


class NewMarkSerializer(ExactSerializer):
    note = serializers.CharField(max_length=NOTE_LENGTH, help_text="One line. It is public.")
    at = serializers.DateTimeField(
        required=False, help_text="Now if left out. With it, the same mark sent twice is one."
    )


class SeriesSummarySerializer(serializers.Serializer[Series]):
    id = serializers.CharField(source="identifier", help_text="16 hexadecimal digits.")
    name = serializers.CharField(max_length=120)
    published_at = serializers.DateTimeField()
    stopped_at = serializers.DateTimeField(
        allow_null=True, help_text="When its remaining rounds were given up."
    )
    simulation = serializers.BooleanField(help_text="Whether simulated devices report, and no real ones.")


class RoundSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(source="round.number", help_text="From 1.")
    opens_at = SecondsField(source="round.opens_at")
    state = serializers.ChoiceField(Round.State.choices, source="round.state")
    reason = serializers.CharField(
        source="round.reason", allow_blank=True, help_text="Why it was skipped; else empty."
    )
    problem = serializers.CharField(
        source="round.last_problem",
        allow_null=True,
        help_text="Why it could not be published so far; null if nothing failed.",
    )
    retry_at = SecondsField(
        source="round.tried_again_at", allow_null=True, help_text="When that is tried again."
    )
    recipe = serializers.CharField(
        source="round.recipe.identifier",
        allow_null=True,
        help_text="Identifier; null until it is published.",
    )
    input = serializers.SerializerMethodField(help_text="Identifier of its public input; null without.")
    outcome = serializers.CharField(
        source="release.outcome", allow_null=True, help_text="released, withheld, or null until then."
    )
    values = ListedField(child=serializers.FloatField(), help_text="Estimates; empty without.")
    interval = EndsSerializer(
        allow_null=True, help_text="Of all rounds with a result together; the recipe's result has its own."
    )
    change = ChangeSerializer(allow_null=True)

    def get_input(self, point: Point) -> str | None:
        identifier: str | None = self.context["inputs"].get(point.round.number)
        return identifier


class MarkSerializer(serializers.Serializer[Mark]):
    at = SecondsField()
    note = serializers.CharField()


class SeriesSerializer(SeriesSummarySerializer):
    file = RecipeFileSerializer(source="draft")
    document = serializers.CharField(
        source="rounds_document.identifier",
        allow_null=True,
        help_text="Identifier of the document of all rounds; null if the clock asks.",
    )
    privacy = serializers.SerializerMethodField(
        help_text="Guarantees for all rounds together; empty if not stated."
    )
    segment = serializers.SerializerMethodField(
        help_text="The one that values and changes are of; null for all devices."
    )
    rounds = serializers.SerializerMethodField(help_text="In their order; of many, the newest.")
    next = serializers.SerializerMethodField(
        help_text="Address of the same series with older rounds; null if there are none."
    )
    marks = MarkSerializer(many=True)

    def get_privacy(self, series: Series) -> list[dict[str, Any]]:
        signed: RoundsDocument | None = getattr(series, "rounds_document", None)
        return [] if signed is None else signed.stated["privacy"]

    def get_segment(self, series: Series) -> str | None:
        return self.context["segment"] or None

    @extend_schema_field(RoundSerializer(many=True))
    def get_rounds(self, series: Series) -> Any:
        points = trend(series, self.context["page"], self.context["segment"])
        return RoundSerializer(points, many=True, context=self.context).data

    def get_next(self, series: Series) -> str | None:
        following: str | None = self.context["next"]
        return following


class SeriesListView(APIView):
    """Every series, newest first."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": RECIPES_WRITE}

    @extend_schema(
        summary="List series",
        responses=paged(SeriesSummarySerializer),
        operation_id="series_list",
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        return Response(api_results(series_list(request.user), request, SeriesSummarySerializer))

    @extend_schema(
        summary="Publish a series",
        description="Reserves the budget of all rounds. Sent again after a lost answer, it publishes nothing "
        "twice: while a series with this content runs, the answer is that series.",
        operation_id="series_publish",
        request=SeriesFileSerializer,
        responses={
            201: OpenApiResponse(SeriesSerializer, "The series; `Location` is its address."),
            400: REFUSED,
            409: problem_response("It needs the approval of another analyst."),
            503: problem_response(
                "Nothing was changed: another server did not answer, or what all rounds cost is not computed "
                "yet."
            ),
        },
        examples=example(SERIES_FILE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        members = read_object(request._request, BODY_BYTES)
        with as_problems(conflicts=RecipeStateError, busy=(PartnerUnavailableError, NotComputedError)):
            series = series_publish(members=members, actor=signed_in_user(request._request))
        location = reverse("api-series", args=[series.identifier])
        return Response(series_document(series), status=201, headers={"Location": location})


class SeriesAskApprovalView(APIView):
    """An analyst asks for the approval of a series."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Ask for the approval of a series",
        description="If its population needs four eyes, another analyst must approve of it, once for "
        "all rounds. Then this account publishes the same content. Sent twice, it is one request.",
        operation_id="series_approval_ask",
        request=SeriesFileSerializer,
        responses={
            200: ApprovalSerializer,
            400: REFUSED,
            409: problem_response("Its population needs no approval."),
        },
        examples=example(SERIES_FILE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        members = read_object(request._request, BODY_BYTES)
        with as_problems(conflicts=RecipeStateError):
            asked = series_approval_ask(members=members, actor=signed_in_user(request._request))
        return Response(ApprovalSerializer(asked).data)


class SeriesView(APIView):
    """One series: its rounds with their results, and what changed from one to the next."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch one series",
        description=PAGES,
        responses=SeriesSerializer,
        operation_id="series",
        parameters=[SEGMENT, CURSOR],
    )
    def get(self, request: Request, series: str) -> Response:
        return _answer(_series(series, request), request)


class RecipeSeriesView(APIView):
    """The series that a recipe is a round of."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch the series of a recipe",
        description=PAGES,
        responses=SeriesSerializer,
        operation_id="recipe_series",
        parameters=[SEGMENT, CURSOR],
    )
    def get(self, request: Request, identifier: str) -> Response:
        missing = "No recipe of a series has this identifier."
        series = row_found(series_visible_to(request.user), missing, rounds__recipe__identifier=identifier)
        return _answer(series, request)


class SeriesStopView(APIView):
    """Give up the rounds that are left."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Stop a series",
        description="What is reserved for the rounds that are left is returned. Rounds that are published "
        "go on. A series that is stopped stays so: sent twice, this does nothing the second time.",
        operation_id="series_stop",
        request=None,
        responses={200: SeriesSerializer, 409: problem_response("All of its rounds were asked.")},
    )
    def post(self, request: Request, series: str) -> Response:
        found = _series(series, request)
        read_object(request._request, BODY_BYTES, names=())
        try:
            found = series_stop(series=found, actor=signed_in_user(request._request))
        except SeriesStateError as error:
            found = _series(series, request)
            if found.stopped_at is None:
                raise conflict(error) from None
        return Response(series_document(found))


class SeriesMarkView(APIView):
    """Add a note to the trend."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Mark a series",
        operation_id="series_mark",
        request=NewMarkSerializer,
        responses={
            200: SeriesSerializer,
            400: REFUSED,
            409: problem_response("It is private, and marks are public."),
        },
        examples=example(MARK, request_only=True),
    )
    def post(self, request: Request, series: str) -> Response:
        found = _series(series, request)
        actor, asked = signed_in_user(request._request), NewMarkSerializer.read(request)
        with as_problems(conflicts=SeriesStateError):
            at = asked.get("at")
            time = timezone.now() if at is None else parse_time("at", at)
            series_mark(series=found, at=time, note=asked["note"], actor=actor)
        return Response(series_document(found))


def _series(identifier: str, request: Request) -> Series:
    return row_found(series_visible_to(request.user), "No series has this identifier.", identifier=identifier)


def _answer(series: Series, request: Request) -> Response:
    with as_problems():
        segment_to_follow(series, request.query_params.get("segment", ""))
    return Response(series_document(series, request.query_params))


def series_document(series: Series, query: QueryDict | None = None) -> dict[str, Any]:
    """A series as plain JSON values, with a page of its rounds.

    Args:
        query: may have `segment`, by `segment_to_follow`, and the `cursor` of the `next` of the previous
            page.

    Raises:
        Problem: `cursor` did not come from there.
    """
    query = QueryDict() if query is None else query
    segment = query.get("segment", "")
    path = reverse("api-series", args=[series.identifier])
    page, following = api_cut(rounds_of(series), query, MOST_ON_PAGE, path=path, fits=fitting(series))
    given = series.inputs.filter(number__in=[found.number for found in page])
    context = {
        "segment": segment,
        "page": page,
        "inputs": dict(given.values_list("number", "identifier")),
        "next": following,
    }
    return dict(SeriesSerializer(series, context=context).data)
