"""The log for programs."""

from datetime import datetime
from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.models import Entry
from log.audit.scopes import LOG_READ
from log.audit.selectors import entries_search
from web.openapi import CURSOR
from web.paging import api_results, text_of
from web.scopes import Scopes
from web.serializers import paged


class HashedTimeField(serializers.DateTimeField):
    """A time in the form that is hashed."""

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


class EntrySerializer(serializers.Serializer[Entry]):
    index = serializers.IntegerField()
    at = HashedTimeField()
    actor = serializers.CharField(help_text="Username; empty for the system itself.")
    action = serializers.CharField()
    subject = serializers.CharField(
        help_text="Identifier of a recipe or task, a username, or “group” or “population” and its name."
    )
    details = serializers.DictField()
    salt = serializers.CharField(help_text="Random digits, a part of what is hashed.")
    entry_hash = serializers.CharField()


class LogView(APIView):
    """Entries of the audit log, newest first."""

    scopes: ClassVar[Scopes] = {"GET": LOG_READ}

    @extend_schema(
        summary="Read the audit log",
        responses=paged(EntrySerializer),
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
        return Response(api_results(found, request, EntrySerializer))
