"""How the API is described to drf-spectacular: problem documents, bytes, what fields a body may have."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema_field
from rest_framework import serializers

from web.problems import CONTENT_TYPE, Problem
from web.scopes import Scope, scope_needed
from web.serializers import ExactSerializer, OpenSerializer

CURSOR = OpenApiParameter("cursor", int, description="Taken from the `next` of the page before.")


class ProblemSerializer(OpenSerializer):
    """A problem document (RFC 9457). Some kinds have further fields."""

    type = serializers.CharField(help_text="Kind of problem, e.g. `/problems/not-found`.")
    title = serializers.CharField(help_text="The same for every problem of this kind.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What is wrong with this request.")
    field = serializers.CharField(required=False, help_text="The parameter at fault, if there is one.")


class _ExactExtension(OpenApiSerializerExtension):
    target_class: Any = ExactSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        mapped = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**mapped, "additionalProperties": self.target.additional}


class _OpenExtension(_ExactExtension):
    target_class = OpenSerializer


@extend_schema_field(OpenApiTypes.BYTE)
class Base64Field(serializers.CharField):
    """Bytes in base64."""


class ApiSchema(AutoSchema):
    """Every operation may answer with a problem document, and does so if it refuses.

    An operation that is not public names the scope that a token needs, also as the field `x-scope`.
    """

    def get_operation(self, *arguments: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*arguments)
        if operation:
            needed = scope_needed(self.view, self.method)
            if isinstance(needed, Scope):
                operation["x-scope"] = needed.name
                said = operation.get("description", "")
                operation["description"] = f"{said}\n\nNeeds the scope `{needed.name}`.".strip()
            operation["responses"]["4XX"] = self._get_response_for_code(
                problem_response("The request was refused."), "4XX"
            )
        return operation

    def get_tags(self) -> list[str]:
        """The resource, by which generated clients group their methods."""
        found: list[str] = super().get_tags()
        return [tag.partition(".")[0] for tag in found]

    def get_auth(self) -> list[dict[str, Any]]:
        """None for what is public, though a view's other methods may not be."""
        found: list[dict[str, Any]] = super().get_auth()
        return found if isinstance(scope_needed(self.view, self.method), Scope) else []

    def _get_response_for_code(
        self, serializer: Any, status_code: str, media_types: Any = None, direction: Any = "response"
    ) -> Any:
        types = [CONTENT_TYPE] if status_code >= "4" else media_types
        parent: Any = super()  # whose methods are untyped
        return parent._get_response_for_code(serializer, status_code, types, direction)


def example(value: dict[str, Any], *, request_only: bool = False) -> list[OpenApiExample]:
    """`value` as the one example of a body; `request_only` if the answer is another."""
    return [OpenApiExample("Example", value, request_only=request_only)]


def problem_response(
    description: str, problem: Problem | None = None, serializer: type[ProblemSerializer] = ProblemSerializer
) -> OpenApiResponse:
    """One response of an operation: a problem document, with `problem` as its example."""
    return OpenApiResponse(serializer, description, example(problem.document()) if problem else [])
