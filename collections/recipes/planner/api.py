"""`POST /api/v1/plan`: the planner for programs. No account is needed."""

from functools import partial
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES
from panprivacy.formats.errors import FieldError
from panprivacy.planning.expectation import DeviceBytes, ExpectedReports
from panprivacy.planning.plan import Plan, PlanSolution, Question
from panprivacy.planning.proposal import planned_names
from panprivacy.planning.solver import UNKNOWNS, Alternative
from panprivacy.planning.targets import Requirement
from panprivacy.statistics.intervals.segment_estimates import ExpectedSegments
from recipes.planner.operations import plan_answer
from storage.answers.questions import State
from web.busy import BusyError
from web.dataclass_serializers import serializer_of
from web.json_requests import read_object
from web.problems import unavailable
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ObjectField

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
        help_text="95% margin: percentage points of the population if devices are counted, else units.",
    )
    aggregator_epsilon = serializers.FloatField(
        required=False, help_text="Largest ε of the proved aggregator guarantee under replacement."
    )
    aggregator_delta = serializers.FloatField(required=False, help_text="Its δ; goes with the ε.")


class QuestionSerializer(serializers.Serializer[dict[str, Any]]):
    statistic = serializers.ChoiceField(choices=sorted(planned_names()))
    parameters = serializers.DictField(
        help_text="As in a recipe file: steps, epsilon, delta, cohort_size, sampling_rate, and the "
        "statistic's own. Curves are drawn around these values, also if one of them is solved for."
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


serializer_of(ExpectedReports, "Reports")
serializer_of(DeviceBytes, "Bytes")
serializer_of(ExpectedSegments, "Segments")
serializer_of(Alternative, proposal=ObjectField)
_REQUIREMENTS = sorted(kind.name for kind in Requirement.__subclasses__())
serializer_of(
    PlanSolution,
    "Solution",
    closest=ObjectField,
    unmet=partial(serializers.ListField, child=serializers.ChoiceField(_REQUIREMENTS)),
)


class AnswerSerializer(serializer_of(Plan)):  # type: ignore[misc]  # made of the dataclass
    state = serializers.ChoiceField(
        choices=[state.value for state in State],
        help_text="`computing`: ask the same again for the rest. `busy`: ask again later. `no_worker`, "
        "`too_long`: there will be no more.",
    )


class PlanApiView(APIView):
    """What to expect of a collection, and what to choose so that it meets targets."""

    scopes: ClassVar[Scopes] = {"POST": PUBLIC}

    @extend_schema(
        summary="Plan a collection",
        operation_id="plan",
        request=QuestionSerializer,
        responses={200: AnswerSerializer, 202: AnswerSerializer},
        examples=[OpenApiExample("Epsilon for a margin of 2 points", value=EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        with as_problems():
            question = Question.from_mapping(read_object(request._request, BODY_BYTES))
            try:
                answer = plan_answer(question=question)
            except FieldError as error:
                # A mechanism names its parameters without their place in the body.
                is_parameter = error.field in question.proposal.parameters.names()
                raise (error.within("parameters") if is_parameter else error) from None
            except BusyError:
                raise unavailable("Many plans are being computed. Send it again.") from None
        status = 202 if answer.state in {State.COMPUTING, State.BUSY} else 200
        return Response({**answer.plan, "state": answer.state.value}, status=status)
