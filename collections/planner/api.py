"""`POST /api/v1/plan`: the planner for programs. Nothing is stored and no account is needed."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy.encryption import SCHEMES
from panprivacy.errors import FieldError
from panprivacy.planning.plan import Question
from panprivacy.planning.proposal import planned_names
from panprivacy.planning.solver import UNKNOWNS
from panprivacy.planning.targets import Requirement
from panprivacy.trust import Trust
from planner.operations import plan_answer
from planner.sending import State
from recipes.api import GuaranteeSerializer
from web.problems import Problem, invalid_field, malformed_body
from web.scopes import PUBLIC, Scopes
from web.turns import BusyError

BODY_BYTES = 8 * 1024
"""Many times the largest question."""

EXAMPLE = {
    "statistic": "count_nonzero",
    "parameters": {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1000},
    "population_size": 10_000,
    "unknown": "epsilon",
    "targets": {"margin": 2.0, "aggregator_epsilon": 1.0, "aggregator_delta": 1e-6},
}


class TargetsSerializer(serializers.Serializer[dict[str, float]]):
    margin = serializers.FloatField(
        required=False,
        help_text="95% margin: percentage points of the population where devices are counted, else units.",
    )
    aggregator_epsilon = serializers.FloatField(
        required=False, help_text="Largest ε of the proved aggregator guarantee under replacement."
    )
    aggregator_delta = serializers.FloatField(required=False, help_text="Its δ; goes with the ε.")


class QuestionSerializer(serializers.Serializer[dict[str, Any]]):
    statistic = serializers.ChoiceField(choices=sorted(planned_names()))
    parameters = serializers.DictField(
        help_text="As in a recipe file: steps, epsilon, delta, cohort_size, sampling_rate, and the "
        "statistic's own. Curves are drawn around these values, also where one of them is solved for."
    )
    population_size = serializers.IntegerField(min_value=1, help_text="Devices that will hear of the recipe.")
    encryption = serializers.ChoiceField(choices=list(SCHEMES), required=False)
    segments = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="As in a recipe file: labels by which it asks.",
    )
    trust = serializers.ChoiceField(
        choices=[trust.value for trust in Trust],
        required=False,
        help_text="Who collects, as in a recipe file; the statistic's default if left out.",
    )
    unknown = serializers.ChoiceField(
        choices=UNKNOWNS, required=False, help_text="What to solve for, so that the targets are met."
    )
    targets = TargetsSerializer(required=False, help_text="Goes with `unknown`.")


class EpsilonsSerializer(serializers.Serializer[dict[str, float]]):
    local = serializers.FloatField(allow_null=True, help_text="Against readers of one report.")
    aggregator = serializers.FloatField(
        allow_null=True, help_text="Against readers of a cohort's result, proved."
    )
    sampled = serializers.FloatField(
        allow_null=True, help_text="Against readers of the result who do not know who took part."
    )


class ReportsSerializer(serializers.Serializer[dict[str, float]]):
    mean = serializers.FloatField()
    low = serializers.IntegerField(help_text="At most 2.5% of repeats have fewer.")
    high = serializers.IntegerField(help_text="At most 2.5% of repeats have more.")
    cohort_probability = serializers.FloatField(
        help_text="That the cohort size is reached, and with two servers the margin that they draw."
    )


class BytesSerializer(serializers.Serializer[dict[str, int]]):
    state = serializers.IntegerField(help_text="What a device stores.")
    report = serializers.IntegerField(help_text="The body of its one request, as JSON.")
    token = serializers.IntegerField(help_text="What a token adds to it, where a recipe asks for one.")
    relayed = serializers.IntegerField(
        allow_null=True,
        help_text="The request with a token through a relay, as it is padded; null where it is too long.",
    )


class SegmentsSerializer(serializers.Serializer[dict[str, Any]]):
    devices = serializers.FloatField(help_text="Of each segment, if all have as many.")
    margin = serializers.FloatField(
        help_text="How far the 95% interval of an answer within a segment will reach, about; of all together."
    )
    margin_points = serializers.FloatField(help_text="The same in percentage points of the segment.")
    shown = serializers.BooleanField(help_text="Whether each segment surely has a cohort of its own.")


class ExpectationSerializer(serializers.Serializer[dict[str, Any]]):
    standard_error = serializers.FloatField(
        help_text="The largest to expect, in the statistic's unit, sampling included."
    )
    margin = serializers.FloatField(
        help_text="How far the 95% interval will reach from the estimate, about, in the unit; of several "
        "values for all together."
    )
    margin_points = serializers.FloatField(
        allow_null=True, help_text="The same in percentage points of the population; null for a mean."
    )
    reports = ReportsSerializer()
    bytes = BytesSerializer()
    segments = SegmentsSerializer(allow_null=True, help_text="Null where it asks by none.")


class AlternativeSerializer(serializers.Serializer[dict[str, Any]]):
    changes = serializers.DictField(child=serializers.FloatField())
    proposal = serializers.DictField(help_text="The whole question with them.")


class SolutionSerializer(serializers.Serializer[dict[str, Any]]):
    unknown = serializers.CharField()
    found = serializers.BooleanField()
    value = serializers.FloatField(
        allow_null=True, help_text="The most private value that meets every target."
    )
    lowest = serializers.FloatField(allow_null=True, help_text="Of all values that do.")
    highest = serializers.FloatField(allow_null=True, help_text="Of all values that do.")
    closest = serializers.DictField(
        help_text="The question with that value; where none is found, with what comes closest, privacy first."
    )
    unmet = serializers.ListField(
        child=serializers.ChoiceField(choices=sorted(kind.name for kind in Requirement.__subclasses__())),
        help_text="What `closest` does not meet; `cohort`: that the cohort size is reached at 95%.",
    )
    alternatives = AlternativeSerializer(
        many=True, help_text="Changes that would meet every target, where none is found."
    )
    expectation = ExpectationSerializer(allow_null=True, help_text="Of `closest`.")
    epsilons = EpsilonsSerializer(allow_null=True, help_text="Of `closest`: local and aggregator only.")


class CurvesSerializer(serializers.Serializer[dict[str, Any]]):
    margin = serializers.DictField(
        help_text="By cohort_size, sampling_rate, epsilon: values and margins, these in the terms of the "
        "targets' margin."
    )
    margin_by_epsilon = serializers.ListField(
        child=serializers.DictField(),
        allow_null=True,
        help_text="Margins by cohort size, a curve per ε.",
    )
    epsilon = serializers.DictField(
        help_text="By cohort_size, sampling_rate, epsilon: values, local, aggregator, sampled; under "
        "replacement, at the parameters' δ, nobody colluding."
    )


class AnswerSerializer(serializers.Serializer[dict[str, Any]]):
    expectation = ExpectationSerializer()
    epsilons = EpsilonsSerializer(
        help_text="ε under replacement, at the parameters' δ, nobody colluding, rounded up by at most "
        "1e-5 (relative)."
    )
    guarantees = GuaranteeSerializer(many=True, allow_null=True, help_text="Null while not computed.")
    solution = SolutionSerializer(allow_null=True)
    curves = CurvesSerializer()
    complete = serializers.BooleanField(help_text="Whether nothing is missing.")
    state = serializers.ChoiceField(
        choices=[state.value for state in State],
        help_text="`computing`: ask the same again for the rest. `busy`: ask again later. `no_worker`, "
        "`too_long`: there will be no more.",
    )


class PlanApiView(APIView):
    """What to expect of a collection, and what to choose so that it meets targets."""

    scopes: ClassVar[Scopes] = {"POST": PUBLIC}
    parser_classes = (JSONParser,)

    @extend_schema(
        summary="Plan a collection",
        operation_id="plan",
        request=QuestionSerializer,
        responses={200: AnswerSerializer, 202: AnswerSerializer},
        examples=[OpenApiExample("Epsilon for a margin of 2 points", value=EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        try:
            answer = plan_answer(question=_question(request))
        except FieldError as error:
            raise invalid_field(error) from None
        except BusyError:
            raise Problem(
                "unavailable", "The server is busy", 503, "Many plans are being computed. Send it again."
            ) from None
        status = 202 if answer.state in {State.COMPUTING, State.BUSY} else 200
        return Response({**answer.plan, "state": answer.state.value}, status=status)


def _question(request: Request) -> Question:
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        raise Problem("length-required", "The body's length is missing", 411, "Send Content-Length.")
    # It is a number: the server has parsed it already.
    if int(request.headers.get("Content-Length") or 0) > BODY_BYTES:
        raise Problem("body-too-large", "The body is too large", 413, f"At most {BODY_BYTES:,} bytes.")
    try:
        members = request.data
    except RecursionError:  # brackets nested deeper than the parser's stack
        raise malformed_body("Not valid JSON: nested too deeply.") from None
    if not isinstance(members, dict):
        raise malformed_body("The body must be an object.")
    return Question.from_mapping(members)
