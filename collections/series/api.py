"""The public read API of series."""

from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy.recipe import format_time
from series.models import Round, Series
from series.selectors import Point, series_list, trend
from web.openapi import CURSOR
from web.paging import api_page
from web.problems import not_found
from web.scopes import PUBLIC, Scopes

PAGE_SIZE = 100


class SeriesSummarySerializer(serializers.ModelSerializer[Series]):
    id = serializers.CharField(source="identifier", help_text="16 hexadecimal digits.")

    class Meta:
        model = Series
        fields = ("id", "name", "published_at", "stopped_at")


class SeriesListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
    results = SeriesSummarySerializer(many=True)


class EndsSerializer(serializers.Serializer[dict[str, Any]]):
    level = serializers.FloatField(help_text="With which all values lie between their ends.")
    low = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="null: no end.")
    high = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="null: no end.")


class ChangeSerializer(serializers.Serializer[dict[str, Any]]):
    difference = serializers.ListField(child=serializers.FloatField(), help_text="To the result before.")
    interval = EndsSerializer(help_text="Of all changes of the series together.")
    more_than_noise = serializers.ListField(child=serializers.BooleanField())


class RoundSerializer(serializers.Serializer[dict[str, Any]]):
    number = serializers.IntegerField(help_text="From 1.")
    opens_at = serializers.CharField()
    state = serializers.ChoiceField(Round.State.choices)
    reason = serializers.CharField(allow_blank=True, help_text="Why it was skipped; else empty.")
    recipe = serializers.CharField(allow_null=True, help_text="Identifier; null where it is not published.")
    outcome = serializers.CharField(allow_null=True, help_text="released, withheld, or null until then.")
    values = serializers.ListField(child=serializers.FloatField(), help_text="Estimates; empty without.")
    interval = EndsSerializer(allow_null=True)
    change = ChangeSerializer(allow_null=True)


class MarkSerializer(serializers.Serializer[dict[str, Any]]):
    at = serializers.CharField()
    note = serializers.CharField()


class SeriesSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.CharField(help_text="16 hexadecimal digits.")
    name = serializers.CharField()
    published_at = serializers.DateTimeField()
    stopped_at = serializers.DateTimeField(allow_null=True)
    file = serializers.DictField(help_text="As in a recipe file.")
    rounds = RoundSerializer(many=True)
    marks = MarkSerializer(many=True)


class SeriesListView(APIView):
    """Every series, newest first."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="List series", responses=SeriesListSerializer, operation_id="series_list", parameters=[CURSOR]
    )
    def get(self, request: Request) -> Response:
        page, following = api_page(series_list(), request, PAGE_SIZE)
        return Response({"next": following, "results": SeriesSummarySerializer(page, many=True).data})


class SeriesView(APIView):
    """One series: its rounds with their results, and what changed from one to the next."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(summary="Fetch one series", responses=SeriesSerializer, operation_id="series")
    def get(self, request: Request, identifier: str) -> Response:
        series = Series.objects.filter(identifier=identifier).first()
        if series is None:
            raise not_found("No series has this identifier.")
        summary = SeriesSummarySerializer(series).data
        marks = [{"at": format_time(mark.at), "note": mark.note} for mark in series.marks.all()]
        rounds = [_round(point) for point in trend(series)]
        return Response({**summary, "file": series.draft, "rounds": rounds, "marks": marks})


def _round(point: Point) -> dict[str, Any]:
    change = point.change
    return {
        "number": point.round.number,
        "opens_at": format_time(point.round.opens_at),
        "state": point.round.state,
        "reason": point.round.reason,
        "recipe": None if point.round.recipe is None else point.round.recipe.identifier,
        "outcome": None if point.release is None else point.release.outcome,
        "values": list(point.values),
        "interval": None if point.interval is None else asdict(point.interval),
        "change": None
        if change is None
        else {
            "difference": list(change.values),
            "interval": asdict(change.interval),
            "more_than_noise": list(change.more_than_noise),
        },
    }
