"""The log for programs."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.scopes import LOG_READ
from audit.selectors import entries_search, entry_document
from web.openapi import CURSOR
from web.paging import api_page, text_of
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
    previous_hash = serializers.CharField()
    entry_hash = serializers.CharField()


class EntryListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
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
        page, following = api_page(found, request, PAGE_SIZE)
        return Response({"next": following, "results": [entry_document(entry) for entry in page]})
