"""What devices send and get, for the API's description alone: these serializers parse nothing."""

from drf_spectacular.utils import OpenApiParameter, OpenApiRequest
from rest_framework import serializers

from panprivacy.encryption.interface import REPORT_NONCE_BYTES
from panprivacy.formats import base64_text
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.statistics.streams.item_bytes import ITEM_LENGTH
from reports.items import BATCH_ITEMS, BATCH_NAME_BYTES
from reports.parsing import ARRIVAL_REASONS, BATCH_REPORTS
from web.bodies import JSON_TYPE
from web.openapi import Base64Field, ProblemSerializer, example, problem_response
from web.serializers import ExactSerializer

IDENTIFIER = OpenApiParameter(
    "identifier",
    location=OpenApiParameter.PATH,
    pattern="^[0-9a-f]{64}$",
    description="Identifier of a published recipe.",
)


_CIPHERTEXT = b"\x02" + bytes(31) + b"\x01" + b"\x03" + bytes(31) + b"\x02"
_REPORT = {
    "nonce": base64_text.encode(bytes(range(REPORT_NONCE_BYTES))),
    "ciphertexts": [base64_text.encode(_CIPHERTEXT)],
}
REJECTED = {
    "index": 17,
    "reason": "duplicate_nonce",
    "detail": "A report with this nonce was accepted already.",
}


class ReportSerializer(ExactSerializer):
    nonce = Base64Field(
        min_length=len(_REPORT["nonce"]),
        max_length=len(_REPORT["nonce"]),
        help_text=f"{REPORT_NONCE_BYTES} random bytes in base64: drawn once, kept when sent again.",
    )
    ciphertexts = serializers.ListField(
        child=Base64Field(),
        help_text="As many as the statistic sends, under the recipe's public key, in base64.",
    )
    token = Base64Field(
        min_length=base64_text.encoded_length(TOKEN_BYTES),
        max_length=base64_text.encoded_length(TOKEN_BYTES),
        required=False,
        help_text=f"Of the recipe, {TOKEN_BYTES} bytes in base64, if its document has `admission`. "
        "The nonce is its bytes 18 to 33.",
    )


class ReportBatchSerializer(ExactSerializer):
    reports = serializers.ListField(
        child=ReportSerializer(),
        min_length=1,
        max_length=BATCH_REPORTS,
        help_text="Each is judged by itself: a bad one never takes the others down.",
    )


class ReportAcceptedSerializer(serializers.Serializer[dict[str, str]]):
    status = serializers.ChoiceField(["accepted"])


class RejectedReportSerializer(serializers.Serializer[dict[str, object]]):
    index = serializers.IntegerField(min_value=0, help_text="Position in the batch, from 0.")
    reason = serializers.ChoiceField(ARRIVAL_REASONS)
    detail = serializers.CharField()


class ReportBatchResultSerializer(serializers.Serializer[dict[str, object]]):
    accepted = serializers.IntegerField(min_value=0, help_text="Number of reports taken in.")
    rejected = RejectedReportSerializer(many=True)


class ReportProblemSerializer(ProblemSerializer):
    """A problem document; `reason` states why a report was rejected."""

    reason = serializers.ChoiceField(ARRIVAL_REASONS, required=False)


class ItemBatchSerializer(ExactSerializer):
    batch: serializers.CharField = serializers.RegexField(
        f"^[0-9a-fA-F]{{{2 * BATCH_NAME_BYTES}}}$",
        help_text=f"{BATCH_NAME_BYTES} random bytes in hexadecimal: drawn once for the batch, and kept when "
        "it is sent again.",
    )
    items = serializers.ListField(
        child=serializers.CharField(min_length=1, max_length=ITEM_LENGTH),
        max_length=BATCH_ITEMS,
        help_text="In their order; an item that appeared twice is listed twice. There may be none: devices "
        "that send by the clock do not tell whether something happened.",
    )


class ItemBatchCountedSerializer(serializers.Serializer[dict[str, str]]):
    status = serializers.ChoiceField(["counted"])


class ItemProblemSerializer(ProblemSerializer):
    """A problem document; `index` states which item of the batch it is about."""

    index = serializers.IntegerField(min_value=0, required=False)


REPORT = {JSON_TYPE: OpenApiRequest(ReportSerializer, examples=example(_REPORT))}
REPORT_BATCH = {
    JSON_TYPE: OpenApiRequest(ReportBatchSerializer, examples=example({"reports": [_REPORT]})),
}
ITEM_BATCH = {
    JSON_TYPE: OpenApiRequest(
        ItemBatchSerializer,
        examples=example(
            {"batch": bytes(range(BATCH_NAME_BYTES)).hex(), "items": ["N14228", "N24211", "N14228"]}
        ),
    ),
}

REFUSALS = {
    400: problem_response("The body cannot be read."),
    404: problem_response("No recipe has this identifier."),
    415: problem_response("The body is not JSON."),
}
