"""Shapes that several bodies and answers of the API have in common."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from web.json_requests import read_object, text_member
from web.refusing import as_problems

BODY_BYTES = 8 * 1024


class ReasonSerializer(serializers.Serializer[dict[str, str]]):
    reason = serializers.CharField(help_text="Why, as a clause of 1 to 200 characters. It is public.")


def given_reason(request: Request) -> str:
    """The reason in the body. Raises Problem where there is none, or other members."""
    members = read_object(request._request, BODY_BYTES, names=("reason",))
    with as_problems():
        return text_member(members, "reason").strip()


class EndsSerializer(serializers.Serializer[dict[str, Any]]):
    level = serializers.FloatField(help_text="With which all values lie between their ends.")
    low = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="null: no end.")
    high = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="null: no end.")


class DifferenceSerializer(serializers.Serializer[dict[str, Any]]):
    difference = serializers.ListField(
        child=serializers.FloatField(), help_text="To the result that came before, or stands first."
    )
    interval = EndsSerializer(help_text="Of all differences of the answer together.")
    more_than_noise = serializers.ListField(child=serializers.BooleanField())


class ChangeSerializer(DifferenceSerializer):
    share = DifferenceSerializer(
        allow_null=True,
        help_text="The same as shares of the devices that were asked, which the number of reports does not "
        "move; null where one of both results has no share with an interval.",
    )
