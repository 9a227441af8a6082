"""Publishing a recipe for a part of its population: only where released results show that many are asked."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from ledger.models import Population
from ledger.operations import population_create
from log.public_log.selectors import site_policy
from log.public_log.tree_growth import integrate
from panprivacy.accounting.rate_validation import Verdict
from panprivacy.device import target_check
from panprivacy.device.log_check import LogCheck
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.signed_result import result_hash
from panprivacy.recipe.targeting.evidence import CitationRefusedError, cited_sizes
from publishing import target
from publishing.publication import recipe_close
from publishing.review import review_of
from publishing.target import target_require
from recipes.models import Recipe
from results import rates
from results.aggregation.models import SubAggregate
from results.models import Release
from results.operations import result_release
from results.selectors import signed_result
from simulations.operations import simulation_start
from tests.collections.tokens.admission.scene import RELAY_URL
from tests.factories import published_recipe
from tests.refusals import field_refused
from tests.relayed_site import through_relay
from tests.target_scene import DECLARED, REGIONS, counted, declare, file_of, publish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _declared(settings: Any) -> None:
    settings.SMALLEST_COHORT, settings.LARGEST_LOCAL_EPSILON = 2, 100
    declare("everyone", DECLARED)


def refused(members: dict[str, Any], **options: Any) -> FieldError:
    before = Recipe.objects.count()
    with pytest.raises(FieldError) as refusal:
        publish(members, **options)
    assert Recipe.objects.count() == before
    return refusal.value


def test_target_of_many_devices_names_the_hash_of_its_evidence() -> None:
    systems = counted()
    recipe = publish(file_of(("os", "linux", systems), smallest_target=None))
    cited = recipe.published.target
    assert cited is not None
    signed = signed_result(str(systems.identifier))
    assert signed is not None
    assert cited.citations["os"].result == result_hash(signed)
    assert json.loads(recipe.document)["smallest_target"] == 10 * 20


def test_target_that_is_not_surely_large_enough_is_refused() -> None:
    systems = counted()
    refusal = refused(file_of(("os", "other", systems)))
    assert refusal.field == "target"
    assert "are sure" in refusal.message
    asked = refused(file_of(("os", "linux", systems), smallest_target=10_000_000))
    assert "must have at least 10,000,000 devices" in asked.message
    # Of two attributes nobody counted both: what is sure of them together is far less.
    regions = counted("region", REGIONS)
    assert refused(file_of(("os", "mac", systems), ("region", "us", regions))).field == "target"


def test_target_that_singles_out_one_device_by_differences_is_refused() -> None:
    """All but one device have linux: who subtracts its result from that of everybody has that one's."""
    nearly_all = counted(ones=(88_079, 11_921, 11_922))
    refusal = refused(file_of(("os", "linux", nearly_all)))
    assert refusal.field == "target"
    assert "(all devices) by too few devices" in refusal.message


def test_nested_target_that_leaves_few_devices_of_another_one_is_refused() -> None:
    """Nearly all devices with linux are in one region: the others could be had by subtraction."""
    systems, regions = counted(), counted("region", (85_000, 15_000))
    publish(file_of(("os", "linux", systems)))
    nested = file_of(("os", "linux", systems), ("region", "eu", regions))
    refusal = refused(nested)
    assert refusal.field == "target"
    assert "(os = linux) by too few devices" in refusal.message


def test_same_target_may_be_asked_again_and_one_that_excludes_it_too() -> None:
    systems = counted(ones=(60_000, 35_000, 28_000))
    for value in ("linux", "linux", "mac"):
        publish(file_of(("os", value, systems)))
    assert Recipe.objects.filter(document__contains='"smallest_target":').count() == 3


def test_targets_that_together_leave_few_devices_are_refused() -> None:
    """Everybody less linux less mac would be the few others, though each two of them differ by many."""
    systems = counted()
    publish(file_of(("os", "linux", systems)))
    refusal = refused(file_of(("os", "mac", systems)))
    assert refusal.field == "target"
    assert "values of os that no target names" in refusal.message


def test_targets_are_refused_elsewhere_too(settings: Any) -> None:
    settings.SITE_URL, settings.RELAY_URL = "https://site.example", RELAY_URL
    real, simulated = counted(), counted(simulation=True)
    # A simulation cites simulations only, and workers simulate no recipe with a target.
    assert refused(file_of(("os", "linux", real)), simulation=True).field == "target.os"
    assert publish(file_of(("os", "linux", simulated)), simulation=True).simulation
    with field_refused("target"):
        members = file_of(("os", "linux", real))
        simulation_start(members=members, workload={"devices": 10}, seed=None, actor=None)
    # A review says what publishing would say.
    refusal = review_of(file_of(("os", "other", real)), now=timezone.now()).refusal
    assert refusal is not None
    assert refusal.field in ("target", "admission")
    Population.objects.filter(name="everyone").update(epsilon=None, delta=None)
    refusal = refused(file_of(("os", "linux", real)))
    assert (refusal.field, refusal.message) == ("target", "needs a population with a budget")


def test_analyst_cannot_choose_a_floor_below_that_of_site_and_devices(settings: Any) -> None:
    few = file_of(("os", "linux", counted()), cohort_size=100, smallest_target=999)
    recipe = publish(few)
    with field_refused("smallest_target", match="at least 1,000 for this device"):
        USUAL.require(recipe.published.document, whose="this device")
    settings.SMALLEST_COHORT = 100
    assert refused(few).field == "smallest_target"
    publish(few | {"smallest_target": 1_000})


def test_older_target_whose_evidence_no_longer_shows_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    systems, regions = counted(), counted("region", (57_620, 42_380))
    older = publish(file_of(("os", "linux", systems)))

    def only_for_the_new_one(*given: Any, **asked: Any) -> Any:
        if "values" not in asked:
            raise CitationRefusedError("the cited result cannot be read")
        return cited_sizes(*given, **asked)

    monkeypatch.setattr(target, "cited_sizes", only_for_the_new_one)
    refusal = refused(file_of(("region", "eu", regions)))
    assert refusal.field == "target"
    assert f"that of the recipe {older.identifier} (os = linux): the cited result" in refusal.message


def test_floor_of_an_older_target_holds_against_a_newer_one() -> None:
    """A newer recipe with a smaller cohort takes away nothing from what the older one was promised."""
    # At least some 20,000 devices have linux and are not in the one region.
    systems, regions = counted(), counted("region", (57_620, 42_380))
    nested = file_of(("os", "linux", systems), ("region", "eu", regions))
    with transaction.atomic():
        publish(nested)
        transaction.set_rollback(True)
    publish(file_of(("os", "linux", systems), smallest_target=40_000))
    assert "must be 40,000" in refused(nested).message


def test_result_that_shows_something_else_is_refused_as_evidence() -> None:
    population_create(name="clinics", description="", budget=None, actor=None)
    for made, said in (
        ({"population": "clinics"}, "of the population clinics"),
        ({"simulation": True}, "shows nothing of real devices"),
        ({"event": "region2"}, "event of the cited recipe is region2"),
        ({"withheld": True}, "released no result"),
        ({"admission": None}, "admission: token"),
    ):
        refusal = refused(file_of(("os", "linux", counted(**made))))
        assert refusal.field == "target.os"
        assert said in refusal.message


def test_unknown_results_and_values_and_older_results_are_refused() -> None:
    systems, without = counted(), published_recipe(statistic="histogram", k=2)
    for attribute, value, cited, field in (
        ("os", "linux", published_recipe(), "target.os.recipe"),
        ("os", "beos", systems, "target.os"),
        ("model", "linux", systems, "target.model"),
        ("os", "linux", without, "target.os.recipe"),
    ):
        assert refused(file_of((attribute, value, cited))).field == field
    # A result that is older than another declared value.
    declare("everyone", {**DECLARED, "os": [*DECLARED["os"], "beos"]})
    refusal = refused(file_of(("os", "linux", systems)))
    assert (refusal.field, "labels" in refusal.message) == ("target.os", True)


def test_another_target_that_comes_in_between_is_seen_before_publishing() -> None:
    """Both were checked when neither was there; the second is checked again under the population's lock."""
    systems, regions = counted(), counted("region", (85_000, 15_000))
    nested = RecipeDraft.from_mapping(file_of(("os", "linux", systems), ("region", "eu", regions)))
    targeted = target_require(nested, simulation=False)
    assert targeted is not None
    publish(file_of(("os", "linux", systems)))
    with pytest.raises(FieldError, match="too few devices"):
        targeted.require_apart()


def test_few_reports_for_many_tokens_are_fine_with_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every device takes a token, and how many of them are in the target nobody knows."""
    recipe = publish(file_of(("os", "linux", counted())))
    monkeypatch.setattr(rates, "issued_of", lambda _: 1_000_000)
    SubAggregate.objects.create(recipe=recipe, reports=600, total=[300])
    result_release(recipe=recipe_close(recipe=recipe, actor=None))
    told = Release.objects.get(recipe=recipe).admission
    assert (told["verdict"], told["low"]) == (Verdict.FINE, 0)


def test_device_computes_the_same_bound_as_its_site_through_its_gateway() -> None:
    published = publish(file_of(("os", "linux", counted()))).published
    cited, log = published.target, LogCheck(site_policy())
    integrate()

    def require(smallest: int) -> None:
        with through_relay() as way:
            target_check.target_require(
                replace(cited, smallest=smallest),
                population=published.population,
                simulation=published.simulation,
                transport=way,
                log=log,
            )

    for smallest in (cited.smallest, 140_000):
        require(smallest)
    with pytest.raises(target_check.TargetRefusedError, match="are sure"):
        require(152_000)
