"""The API of the ledger: reading is public, administrators set budgets."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.budget import DELTA, EPSILON, Budget, Rule
from ledger.models import DESCRIPTION_LENGTH, Population
from ledger.operations import population_change, population_create
from ledger.scopes import POPULATIONS_WRITE
from ledger.selectors import balance_of, balances_of, lines_of, populations_list, spendings_list
from ledger.serializers import PopulationSerializer, SpendingSerializer
from log.audit.access import signed_in_user
from panprivacy.recipe.targeting.attributes import FIELD as ATTRIBUTES
from panprivacy.recipe.targeting.attributes import Attributes
from web.openapi import CURSOR, example, problem_response
from web.paging import api_page
from web.problems import row_found
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ExactSerializer, paged

PAGE_SIZE = 100


class PopulationDetailSerializer(PopulationSerializer):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page of lines, or null.")
    spendings = SpendingSerializer(many=True, help_text="Lines of the book, newest first.")


class BudgetSerializer(ExactSerializer):
    epsilon = serializers.FloatField(help_text=EPSILON.help)
    delta = serializers.FloatField(help_text=DELTA.help)
    rule = serializers.ChoiceField(
        choices=[rule.value for rule in Rule],
        required=False,
        help_text="As above. Unchanged by default; of a new population, filter.",
    )


class PopulationChangeSerializer(ExactSerializer):
    description = serializers.CharField(
        max_length=DESCRIPTION_LENGTH, allow_blank=True, help_text="Which devices these are, in one line."
    )
    budget = BudgetSerializer(
        allow_null=True, help_text="Null for none: spending is recorded and nothing refused."
    )
    four_eyes = serializers.BooleanField(
        required=False,
        help_text="Whether publishing needs the approval of another analyst, also if the site asks for "
        "none. Unchanged by default; of a new population, false.",
    )
    attributes = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text='What devices know of themselves, as {"os": ["linux", "other"]}: recipes can choose '
        "devices by it. What was declared stays; values can be added at the end. Unchanged by default.",
    )


class NewPopulationSerializer(PopulationChangeSerializer):
    name = serializers.CharField(help_text="1 to 60 of the characters a-z, 0-9 and -; it cannot be changed.")


NEW = {
    "name": "clinics",
    "description": "Devices in clinics.",
    "budget": {"epsilon": 4.0, "delta": 1e-5, "rule": "filter"},
}
CHANGE = {name: NEW[name] for name in ("description", "budget")}
REFUSED = problem_response("A field is missing, unknown or out of range; `field` names it.")


class PopulationListView(APIView):
    """Populations, newest first, with budget and spending."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": POPULATIONS_WRITE}

    @extend_schema(
        summary="List populations",
        responses=paged(PopulationSerializer),
        operation_id="populations_list",
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        rows, following = api_page(populations_list(), request, PAGE_SIZE)
        results = PopulationSerializer(balances_of(rows), many=True).data
        return Response({"next": following, "results": results})

    @extend_schema(
        summary="Make a population",
        description="Only administrators may. Sent twice, the second is refused: the name is taken.",
        operation_id="population_create",
        request=NewPopulationSerializer,
        responses={
            201: OpenApiResponse(PopulationSerializer, "Recipes can name it from now on."),
            400: REFUSED,
        },
        examples=example(NEW, request_only=True),
    )
    def post(self, request: Request) -> Response:
        actor, asked = signed_in_user(request._request), NewPopulationSerializer.read(request)
        with as_problems():
            population = population_create(actor=actor, **_settled(asked, Rule.FILTER))
        return Response(PopulationSerializer(balance_of(population)).data, status=201)


class PopulationView(APIView):
    """One population with its book."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "PUT": POPULATIONS_WRITE}

    @extend_schema(
        summary="Fetch one population and what was spent",
        responses=PopulationDetailSerializer,
        operation_id="population",
        parameters=[CURSOR],
    )
    def get(self, request: Request, name: str) -> Response:
        balance = balance_of(_population(name))
        population = balance.population
        rows, following = api_page(spendings_list(population), request, PAGE_SIZE)
        shown = PopulationSerializer(balance).data
        lines = SpendingSerializer(lines_of(balance, rows), many=True).data
        return Response({**shown, "next": following, "spendings": lines})

    @extend_schema(
        summary="Set a population's description and budget",
        description="A budget below what is spent stops further recipes; what is published stays.",
        operation_id="population_change",
        request=PopulationChangeSerializer,
        responses={200: PopulationSerializer, 400: REFUSED},
        examples=example(CHANGE, request_only=True),
    )
    def put(self, request: Request, name: str) -> Response:
        population = _population(name)
        actor, asked = signed_in_user(request._request), PopulationChangeSerializer.read(request)
        with as_problems():
            settled = _settled(asked, Rule(population.rule))
            changed = population_change(population=population, actor=actor, **settled)
        return Response(PopulationSerializer(balance_of(changed)).data)


def _population(name: str) -> Population:
    return row_found(Population.objects.all(), "No population has this name.", name=name)


def _settled(asked: dict[str, Any], rule: Rule) -> dict[str, Any]:
    """The fields of the body as the operations take them. Raises FieldError.

    Args:
        rule: of a budget that names none.
    """
    if asked["budget"] is not None:
        asked["budget"] = Budget(**{"rule": rule, **asked["budget"]})
    if ATTRIBUTES in asked:
        asked[ATTRIBUTES] = Attributes.from_members(asked[ATTRIBUTES])
    return asked
