"""The REST API of simulations, of a recipe or a series, for analysts: start one, follow it, cancel it, delete
a private one."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from recipes.drafts_api import RecipeFileSerializer
from recipes.errors import PartnerUnavailableError
from recipes.planner.guarantees import NotComputedError
from recipes.scopes import RECIPES_READ, RECIPES_WRITE
from series.api import SeriesFileSerializer
from simulations.access import may_delete
from simulations.deletion import series_simulation_delete, simulation_delete
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation, Simulation
from simulations.operations import simulation_cancel, simulation_start
from simulations.selectors import Stage, outcome_of, problem_of, progress_of, series_progress_of
from simulations.series_simulations import MOST_ROUNDS, series_simulation_cancel, series_simulation_start
from simulations.workloads import CSV_BYTES, RANDOM, SHARES
from web.openapi import problem_response
from web.problems import Problem
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer, ObjectField

EXAMPLE: dict[str, Any] = {
    "recipe": {
        "name": "Crash counter",
        "question": "On how many devices did it crash?",
        "statistic": "count_nonzero",
        "steps": 7,
        "epsilon": 1.0,
        "delta": 1e-6,
        "cohort_size": 1000,
    },
    "workload": {"kind": "bernoulli", "devices": 3000, "rate": 0.05},
    "seed": 7,
}


SERIES_EXAMPLE = {
    "series": {**EXAMPLE["recipe"], "segments": ["2.0", "2.1"], "every": "week", "rounds": 4},
    "workload": {"devices": 6000, "shares": [0.05], "rises": {"segment": "2.1", "points": 10}},
}

SHARES_HELP = "Of the devices with the event, which happens once: one for each segment, or one for all."


class WorkloadSerializer(serializers.Serializer[dict[str, Any]]):
    kind = serializers.ChoiceField(
        choices=[*RANDOM, SHARES, "flights", "events", "values"],
        help_text="`bernoulli`, `poisson`: random events. `shares`: an event on a fixed share of devices, "
        "which are spread evenly over the segments. `flights`: aircraft of January 2013. `events`, "
        "`values`: a CSV file.",
    )
    devices = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000_000, help_text="Of random events, or `shares`."
    )
    shares = serializers.ListField(
        required=False, child=serializers.FloatField(min_value=0, max_value=1), help_text=SHARES_HELP
    )
    rate = serializers.FloatField(
        required=False,
        help_text="Of random events: the probability of one in a step, or their mean number (poisson).",
    )
    csv = serializers.CharField(
        required=False,
        help_text="With the header `device,step,events` (and `segment`, if the recipe has "
        "segments), or `device,value`; at most 8 MiB.",
    )
    weights = serializers.ListField(
        required=False,
        child=serializers.FloatField(min_value=0),
        help_text="Relative sizes of the recipe's segments, in their order, for devices whose own no file "
        "names; equal if left out.",
    )


class NewSimulationSerializer(ExactSerializer):
    most_bytes = CSV_BYTES + 4 * 1024 * 1024
    """A file, its line ends escaped, and a recipe."""

    recipe = RecipeFileSerializer(help_text="Its times are ignored.")
    workload = WorkloadSerializer()
    seed = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=2**53 - 1,
        help_text="Repeats what the devices do; a random one if left out.",
    )
    public = serializers.BooleanField(
        default=False,
        help_text="Whether the copy is public for good, with its question and its result. Else analysts of "
        "this site see it alone, the log does not name it, and it can be deleted. It must be true if another "
        "server takes part in the recipe.",
    )


class SimulationSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.UUIDField(source="simulation.pk")
    recipe = serializers.CharField(
        source="simulation.recipe.identifier",
        help_text="Identifier of the recipe, which is marked as a simulation.",
    )
    public = serializers.BooleanField(help_text="Whether others than analysts of this site see it.")
    state = serializers.ChoiceField(choices=[stage.value for stage in Stage], source="progress.stage")
    devices = serializers.IntegerField(
        source="simulation.devices", help_text="Devices in all; 0 until a worker has read their file."
    )
    done = serializers.IntegerField(source="simulation.done", help_text="Devices that have been simulated.")
    seconds_left = serializers.IntegerField(
        source="progress.seconds_left",
        allow_null=True,
        help_text="Until all have, at the speed so far; null if unknown.",
    )
    problem = serializers.CharField(
        allow_null=True,
        help_text="What went wrong last, such as a line of a file, or what it waits for; while it is "
        "`running`, it is tried again.",
    )
    result = ObjectField(
        source="outcome.as_dict",
        allow_null=True,
        help_text="The object that `manage.py collect` prints, once it is `finished`.",
    )


class RiseSerializer(serializers.Serializer[dict[str, Any]]):
    segment = serializers.CharField(required=False, help_text="Left out if the series has none.")
    points = serializers.FloatField(
        min_value=-100, max_value=100, help_text="By how many percentage points its share changes."
    )


class SeriesWorkloadSerializer(serializers.Serializer[dict[str, Any]]):
    devices = serializers.IntegerField(
        min_value=1, max_value=1_000_000, help_text="In each round, spread evenly over the segments."
    )
    shares = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=1), help_text=SHARES_HELP
    )
    rises = RiseSerializer(required=False, allow_null=True, help_text="What changes in the last round.")


class NewSeriesSimulationSerializer(ExactSerializer):
    series = SeriesFileSerializer(
        help_text=f"With `every`, and at most {MOST_ROUNDS} rounds; its times are ignored. The last round is "
        "dated now."
    )
    workload = SeriesWorkloadSerializer()
    seed = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=2**53 - 1,
        help_text="Repeats what the devices do; random ones if left out.",
    )
    public = serializers.BooleanField(
        default=False, help_text="As of a simulation, for the series and all of its rounds."
    )


class SeriesSimulationSerializer(serializers.Serializer[dict[str, Any]]):
    series = serializers.CharField(
        source="simulation.series.identifier", help_text="The series, which has the results."
    )
    public = serializers.BooleanField(help_text="Whether others than analysts of this site see it.")
    state = serializers.ChoiceField(
        choices=[stage.value for stage in Stage if stage is not Stage.SUMMING], source="progress.stage"
    )
    rounds = serializers.IntegerField(source="progress.rounds")
    done = serializers.IntegerField(source="progress.done", help_text="Rounds with a result, or none.")
    seconds_left = serializers.IntegerField(
        source="progress.seconds_left",
        allow_null=True,
        help_text="Until the last one has, at the pace so far; null if unknown.",
    )
    problem = serializers.CharField(allow_null=True, help_text="As of a simulation.")


class SimulationsView(APIView):
    """Starting one: a copy of its recipe for simulated devices, private or public."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        operation_id="simulation_start",
        summary="Simulate devices",
        request=NewSimulationSerializer,
        responses={
            202: OpenApiResponse(SimulationSerializer, "Started; `Location` is the address of its progress."),
            409: problem_response("Too many wait already, or none can be started here."),
            413: problem_response("The body is larger than 12 MiB."),
            503: problem_response(
                "The recipe's other server did not answer, or its guarantees are not computed yet."
            ),
        },
        examples=[OpenApiExample("Random events", value=EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        actor, asked = signed_in_user(request._request), NewSimulationSerializer.read(request)
        with _refusals():
            simulation = simulation_start(
                members=asked["recipe"],
                workload=asked["workload"],
                seed=asked.get("seed"),
                public=asked.get("public", False),
                actor=actor,
            )
        location = reverse("api-simulation", args=[simulation.pk])
        return Response(_shown(simulation), status=202, headers={"Location": location})


class SimulationView(APIView):
    """How far one is, and cancelling it."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ, "DELETE": RECIPES_WRITE}

    @extend_schema(
        operation_id="simulation", summary="Follow a simulation", responses={200: SimulationSerializer}
    )
    def get(self, request: Request, simulation: uuid.UUID) -> Response:
        return Response(_shown(_simulation(simulation)))

    @extend_schema(
        operation_id="simulation_cancel",
        summary="Cancel a simulation",
        responses={200: SimulationSerializer, 409: problem_response("It has ended already.")},
    )
    def delete(self, request: Request, simulation: uuid.UUID) -> Response:
        own, actor = _simulation(simulation), signed_in_user(request._request)
        with _refusals():
            cancelled = simulation_cancel(simulation=own, actor=actor)
        return Response(_shown(cancelled))


class DeletionView(APIView):
    """Deleting a private one."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        operation_id="simulation_delete",
        summary="Delete a private simulation",
        description="With its recipe, reports, keys and result. One that runs is cancelled first.",
        request=None,
        responses={
            204: None,
            403: problem_response("Only its owner and administrators may."),
            409: problem_response("It is public, and stays for good."),
        },
    )
    def post(self, request: Request, simulation: uuid.UUID) -> Response:
        own, actor = _simulation(simulation), signed_in_user(request._request)
        if own.recipe.private and not may_delete(actor, own.recipe):
            raise _not_deleted()
        with _refusals():
            simulation_delete(simulation=own, actor=actor)
        return Response(status=204)


class SeriesSimulationsView(APIView):
    """Starting the simulation of a series."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        operation_id="series_simulation_start",
        summary="Simulate a series",
        description="Its rounds run one after the other, each as a simulation that waits in line.",
        request=NewSeriesSimulationSerializer,
        responses={
            202: OpenApiResponse(
                SeriesSimulationSerializer, "Started; `Location` is the address of its progress."
            ),
            409: problem_response("Too many wait already, or none can be started here."),
            503: problem_response(
                "The recipe's other server did not answer, or its guarantees are not computed yet."
            ),
        },
        examples=[OpenApiExample("One version gets worse", value=SERIES_EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        actor, asked = signed_in_user(request._request), NewSeriesSimulationSerializer.read(request)
        with _refusals():
            simulation = series_simulation_start(
                members=asked["series"],
                workload=asked["workload"],
                seed=asked.get("seed"),
                public=asked.get("public", False),
                actor=actor,
            )
        location = reverse("api-series-simulation", args=[simulation.series.identifier])
        return Response(_series_shown(simulation), status=202, headers={"Location": location})


class SeriesSimulationView(APIView):
    """How far the simulation of a series is, and cancelling it."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ, "DELETE": RECIPES_WRITE}

    @extend_schema(
        operation_id="series_simulation",
        summary="Follow the simulation of a series",
        responses={200: SeriesSimulationSerializer},
    )
    def get(self, request: Request, series: str) -> Response:
        return Response(_series_shown(_series_simulation(series)))

    @extend_schema(
        operation_id="series_simulation_cancel",
        summary="Cancel the simulation of a series",
        description="No further round begins. Results stay.",
        responses={200: SeriesSimulationSerializer, 409: problem_response("It has ended already.")},
    )
    def delete(self, request: Request, series: str) -> Response:
        own, actor = _series_simulation(series), signed_in_user(request._request)
        with _refusals():
            cancelled = series_simulation_cancel(simulation=own, actor=actor)
        return Response(_series_shown(cancelled))


class SeriesDeletionView(APIView):
    """Deleting a private simulation of a series."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        operation_id="series_simulation_delete",
        summary="Delete the private simulation of a series",
        description="With all of its rounds. One that runs is cancelled first.",
        request=None,
        responses={
            204: None,
            403: problem_response("Only its owner and administrators may."),
            409: problem_response("It is public, and stays for good."),
        },
    )
    def post(self, request: Request, series: str) -> Response:
        own, actor = _series_simulation(series), signed_in_user(request._request)
        if own.series.private and not may_delete(actor, own.series):
            raise _not_deleted()
        with _refusals():
            series_simulation_delete(simulation=own, actor=actor)
        return Response(status=204)


def _series_simulation(identifier: str) -> SeriesSimulation:
    loaded = SeriesSimulation.objects.select_related("series")
    return get_object_or_404(loaded, series__identifier=identifier)


def _series_shown(simulation: SeriesSimulation) -> dict[str, Any]:
    progress = series_progress_of(simulation, timezone.now())
    shown = {
        "simulation": simulation,
        "public": not simulation.series.private,
        "progress": progress,
        "problem": progress.problem or None,
    }
    return dict(SeriesSimulationSerializer(shown).data)


def _simulation(key: uuid.UUID) -> Simulation:
    return get_object_or_404(Simulation.objects.select_related("recipe"), pk=key)


def _not_deleted() -> Problem:
    return Problem(
        "forbidden", "This is not allowed", 403, "Only its owner and administrators may delete it."
    )


@contextmanager
def _refusals() -> Iterator[None]:
    with as_problems(busy=(PartnerUnavailableError, NotComputedError)):
        try:
            yield
        except SimulationRefusedError as error:
            raise Problem("simulation-refused", "The simulation was refused", 409, f"{error}.") from None


def _shown(simulation: Simulation) -> dict[str, Any]:
    shown = {
        "simulation": simulation,
        "public": not simulation.recipe.private,
        "progress": progress_of(simulation, timezone.now()),
        "problem": problem_of(simulation) or None,
        "outcome": outcome_of(simulation),
    }
    return dict(SimulationSerializer(shown).data)
