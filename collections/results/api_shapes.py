"""Shapes that several bodies and answers of the API have in common."""

from rest_framework import serializers

from panprivacy.statistics.intervals.difference import Difference
from panprivacy.statistics.intervals.estimate import Interval
from results.verdicts import Verdict
from web.dataclass_serializers import serializer_of
from web.serializers import ExactSerializer, ListedField


class StatedReasonSerializer(ExactSerializer):
    reason = serializers.CharField(help_text="Why, as a clause of 1 to 200 characters. It is public.")


class StatedVerdictSerializer(ExactSerializer):
    by = serializers.CharField(help_text="Who recomputed the result: 1 to 120 characters. It is public.")
    failed = serializers.CharField(
        allow_blank=True, help_text="Name of the first check that failed; empty if all hold."
    )


class VerdictSerializer(serializers.Serializer[Verdict]):
    by = serializers.CharField()
    failed = serializers.CharField()
    at = serializers.DateTimeField(help_text="When it was filed.")


EndsSerializer = serializer_of(Interval, "Ends")


class DifferencesSerializer(serializers.Serializer[Difference]):
    difference = ListedField(
        source="values",
        child=serializers.FloatField(),
        help_text="From the previous result of a series, or the first of a comparison.",
    )
    interval = EndsSerializer(help_text="Of all differences of the answer together.")
    more_than_noise = ListedField(child=serializers.BooleanField())


class ChangeSerializer(DifferencesSerializer):
    share = DifferencesSerializer(
        source="shares",
        allow_null=True,
        help_text="The same as shares of the devices that were asked, which the number of reports does not "
        "move; null if one of both results has no share with an interval.",
    )
