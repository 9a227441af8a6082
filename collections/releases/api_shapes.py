"""Shapes that several answers of the API have in common."""

from typing import Any

from rest_framework import serializers


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
