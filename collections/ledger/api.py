"""The API of the ledger: everybody reads, administrators set budgets."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from ledger.budget import DELTA, EPSILON, Budget, Rule
from ledger.exports import balance_document, line_document
from ledger.models import DESCRIPTION_LENGTH, Population
from ledger.operations import population_change, population_create
from ledger.scopes import POPULATIONS_WRITE
from ledger.selectors import balance_of, balances_of, lines_of, populations_list, spendings_list
from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed
from panprivacy.targeting.attributes import FIELD as ATTRIBUTES
from panprivacy.targeting.attributes import NO_ATTRIBUTES, Attributes
from web.json_requests import read_object, text_member
from web.openapi import CURSOR, PagedSerializer, example, problem_response
from web.paging import api_page
from web.problems import not_found
from web.refusing import as_problems
from web.scopes import PUBLIC, Scopes

PAGE_SIZE = 100
BODY_BYTES = 8 * 1024

UNKNOWN = (
    "Null where no ε is promised at this δ, where it could not be computed in time (ask again), or where "
    "another version of the server wrote an event."
)


class PopulationSerializer(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    description = serializers.CharField()
    four_eyes = serializers.BooleanField(
        help_text="Whether publishing needs another analyst’s approval: so says the site or the population."
    )
    attributes = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="By which recipes can choose devices: by name, its values in their order.",
    )
    model = serializers.CharField(help_text="Always aggregator: someone who reads only combined results.")
    relation = serializers.CharField(help_text="Always replace: one device's whole history for another.")
    delta = serializers.FloatField(help_text="δ of every ε here: the budget's, or 1e-6 without a budget.")
    budget = serializers.FloatField(allow_null=True, help_text="ε; null where there is no budget.")
    rule = serializers.ChoiceField(
        choices=[rule.value for rule in Rule],
        allow_null=True,
        help_text="What may be published: filter (holds also where recipes are chosen by earlier results) or "
        "composed (where they are not); null without a budget.",
    )
    used = serializers.FloatField(
        allow_null=True, help_text="Part of the budget that is used, by its rule; above 1 it is exceeded."
    )
    spent = serializers.FloatField(
        allow_null=True, help_text=f"ε of all unreturned recipes together. {UNKNOWN}"
    )
    left = serializers.FloatField(
        allow_null=True,
        help_text="Budget less spent, never below 0; null where one is, and where a filter holds the budget.",
    )
    spent_if_half_colludes = serializers.FloatField(
        allow_null=True, help_text="The same for a reader with whom half of every cohort colludes."
    )
    recipes = serializers.IntegerField(help_text="Number of recipes that spent and were not returned.")


class PopulationListSerializer(PagedSerializer):
    results = PopulationSerializer(many=True)


class SpendingSerializer(serializers.Serializer[dict[str, Any]]):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(
        choices=("spent", "returned"), help_text="Returned: closed with nothing released."
    )
    recipe = serializers.CharField(help_text="Identifier of the recipe.")
    epsilon_alone = serializers.FloatField(allow_null=True, help_text=f"ε of this recipe alone. {UNKNOWN}")
    epsilon_composed = serializers.FloatField(
        allow_null=True, help_text=f"ε of all recipes together after this line. {UNKNOWN}"
    )
    delta = serializers.FloatField()
    returned_at = serializers.DateTimeField(allow_null=True)
    event = serializers.DictField(help_text="The privacy event, from which every ε is computed.")
    condition = serializers.CharField(
        help_text="What the event relies on, as a clause; empty where it holds as it is."
    )


class PopulationDetailSerializer(PopulationSerializer):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page of lines, or null.")
    spendings = SpendingSerializer(many=True, help_text="Lines of the book, newest first.")


class BudgetSerializer(serializers.Serializer[dict[str, Any]]):
    epsilon = serializers.FloatField(help_text=EPSILON.help)
    delta = serializers.FloatField(help_text=DELTA.help)
    rule = serializers.ChoiceField(
        choices=[rule.value for rule in Rule],
        required=False,
        help_text="As above. By default the one that stands; of a new population, filter.",
    )


class PopulationChangeSerializer(serializers.Serializer[dict[str, Any]]):
    description = serializers.CharField(
        max_length=DESCRIPTION_LENGTH, allow_blank=True, help_text="Which devices these are, in one line."
    )
    budget = BudgetSerializer(
        allow_null=True, help_text="Null for none: spending is recorded and nothing refused."
    )
    four_eyes = serializers.BooleanField(
        required=False,
        help_text="Whether publishing needs the approval of another analyst, also where the site asks for "
        "none. By default as it stands; of a new population, false.",
    )
    attributes = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text='What devices know of themselves, as {"os": ["linux", "other"]}: recipes can choose '
        "devices by it. What was declared stays; values can be added at the end. By default as it stands.",
    )


class NewPopulationSerializer(PopulationChangeSerializer):
    name = serializers.CharField(help_text="1 to 60 of the characters a-z, 0-9 and -; it cannot be changed.")


NEW = {
    "name": "clinics",
    "description": "Devices in clinics.",
    "budget": {"epsilon": 4.0, "delta": 1e-5, "rule": "filter"},
}
CHANGE = {name: NEW[name] for name in ("description", "budget")}
OPTIONAL = ("four_eyes", "attributes")
REFUSED = problem_response("A member is missing, unknown or out of range; `field` names it.")


class PopulationListView(APIView):
    """Populations, newest first, with budget and spending."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": POPULATIONS_WRITE}

    @extend_schema(
        summary="List populations",
        responses=PopulationListSerializer,
        operation_id="populations_list",
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        rows, following = api_page(populations_list(), request, PAGE_SIZE)
        results = [balance_document(balance) for balance in balances_of(rows)]
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
        members = read_object(request._request, BODY_BYTES, names=(*NEW, *OPTIONAL))
        with as_problems():
            population = population_create(
                name=text_member(members, "name"),
                description=text_member(members, "description"),
                budget=_budget(members, Rule.FILTER),
                four_eyes=bool(_four_eyes(members)),
                attributes=_attributes(members) or NO_ATTRIBUTES,
                actor=signed_in_user(request._request),
            )
        return Response(balance_document(balance_of(population)), status=201)


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
        lines = lines_of(balance, rows)
        return Response(
            {
                **balance_document(balance),
                "next": following,
                "spendings": [line_document(line, balance.delta) for line in lines],
            }
        )

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
        members = read_object(request._request, BODY_BYTES, names=(*CHANGE, *OPTIONAL))
        with as_problems():
            changed = population_change(
                population=population,
                description=text_member(members, "description"),
                budget=_budget(members, Rule(population.rule)),
                four_eyes=_four_eyes(members),
                attributes=_attributes(members),
                actor=signed_in_user(request._request),
            )
        return Response(balance_document(balance_of(changed)))


def _population(name: str) -> Population:
    population = Population.objects.filter(name=name).first()
    if population is None:
        raise not_found("No population has this name.")
    return population


def _four_eyes(members: Mapping[str, object]) -> bool | None:
    value = members.get("four_eyes")
    if "four_eyes" in members and not isinstance(value, bool):
        raise FieldError("four_eyes", f"must be true or false, not {as_typed(value)}")
    return value if isinstance(value, bool) else None


def _attributes(members: Mapping[str, object]) -> Attributes | None:
    return Attributes.from_members(members[ATTRIBUTES]) if ATTRIBUTES in members else None


def _budget(members: Mapping[str, object], rule: Rule) -> Budget | None:
    if "budget" not in members:
        raise FieldError("budget", "is missing; null stands for none")
    budget = members["budget"]
    if budget is None:
        return None
    if not isinstance(budget, dict):
        raise FieldError("budget", f"must be null or an object, not {as_typed(budget)}")
    for name in ("epsilon", "delta"):
        if name not in budget:
            raise FieldError(name, "is missing: a budget needs epsilon and delta")
    for name in budget:
        if name not in ("epsilon", "delta", "rule"):
            raise FieldError(name, "is unknown; a budget has epsilon, delta and rule")
    named = budget.get("rule", rule.value)
    if named not in [known.value for known in Rule]:
        raise FieldError("rule", f"must be {' or '.join(Rule)}, not {as_typed(named)}")
    return Budget(epsilon=budget["epsilon"], delta=budget["delta"], rule=Rule(named))
