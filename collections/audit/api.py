"""The log for programs."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.scopes import LOG_READ
from audit.selectors import entries_search, entry_document
from web.openapi import CURSOR, PagedSerializer
from web.paging import api_results, text_of
from web.scopes import Scopes

PAGE_SIZE = 100


class EntrySerializer(serializers.Serializer[dict[str, Any]]):
    index = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="Username; empty for the system itself.")
    action = serializers.CharField()
    subject = serializers.CharField(
        help_text="Identifier of a recipe or task, a username, or “group” or “population” and its name."
    )
    details = serializers.DictField()
    salt = serializers.CharField(help_text="Random digits, a part of what is hashed.")
    previous_hash = serializers.CharField(
        help_text="Hash of the entry before, in entries from before there was a tree; empty since."
    )
    entry_hash = serializers.CharField()


class EntryListSerializer(PagedSerializer):
    results = EntrySerializer(many=True)


class LogView(APIView):
    """Entries of the audit log, newest first."""

    scopes: ClassVar[Scopes] = {"GET": LOG_READ}

    @extend_schema(
        summary="Read the audit log",
        responses=EntryListSerializer,
        operation_id="log",
        parameters=[
            OpenApiParameter("q", description="An index, the start of a hash, or words of subject or actor."),
            OpenApiParameter("action", description="Name of an action."),
            OpenApiParameter("actor", description="Exact username."),
            CURSOR,
        ],
    )
    def get(self, request: Request) -> Response:
        query = request.query_params
        found = entries_search(
            text=text_of(query, "q"), action=text_of(query, "action"), actor=text_of(query, "actor")
        )
        return Response(api_results(found, request, PAGE_SIZE, entry_document))
