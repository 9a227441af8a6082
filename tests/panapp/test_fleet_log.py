"""Simulated devices report only to a recipe that stands in the site's public log as its policy asks."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from devices_sim.fleet import FleetError
from devices_sim.transport import JSON, Answer, Transport
from panapp import fleet_log
from panapp.fleet_log import fleet_log_require, fleet_target_require
from panapp.pairing import log_policy_text
from panapp.services import Services
from panprivacy.transparency.policy import Policy
from public_log.integrating import integrate
from public_log.witnessing import witness_verifier_key
from recipes.models import Recipe
from tests.devices_sim.public_log import WITHOUT_WITNESSES
from tests.factories import published_recipe
from tests.target_scene import DECLARED, counted, declare, file_of, publish

pytestmark = pytest.mark.django_db

SILENT = "http://127.0.0.1:1/witness"


class ClientTransport(Transport):
    """To the site in this process and this test's transaction."""

    def at(self, base_url: str) -> Transport:
        raise ValueError(base_url)

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,  # none are sent here
    ) -> Answer:
        answer: Any = Client().generic(method, target, body, content_type, headers={"accept": accept})
        return Answer(answer.status_code, {}, answer.getvalue())


@pytest.fixture
def asked() -> Recipe:
    """A recipe with a target, published for simulated devices."""
    declare("everyone", DECLARED)
    count = counted(simulation=True)
    return publish(file_of(("os", "linux", count)), simulation=True)


def test_a_target_is_checked_by_the_cited_result_in_the_log(asked: Recipe) -> None:
    integrate()
    fleet_target_require(asked.published, ClientTransport(), Services("http://site.example", None))


def test_no_device_reports_to_a_target_whose_cited_result_is_in_no_log_that_it_knows(asked: Recipe) -> None:
    integrate()
    policy = Policy.parse(WITHOUT_WITNESSES.encode())
    services = Services("http://site.example", None, log_policy=policy)
    with pytest.raises(FleetError, match="no device reports: the public log does not vouch"):
        fleet_target_require(asked.published, ClientTransport(), services)


def look(policy: str) -> None:
    """As `collect` does once for all of its devices."""
    site = ClientTransport()
    served = site.recipe(str(published_recipe(simulation=True).identifier))
    services = Services("http://site.example", None, log_policy=Policy.parse(policy.encode()))
    fleet_log_require(served, site, services)


def test_a_recipe_that_was_just_published_is_found_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_log, "WITNESS_SECONDS", 0.0)
    look(log_policy_text(()))


def test_without_its_witness_no_device_reports_and_what_it_said_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet_log, "WITNESS_SECONDS", 0.0)
    log = log_policy_text(()).splitlines()[0]
    with pytest.raises(FleetError, match=r"no device reports: too few witnesses sign .*\(w: .*refused"):
        look(f"{log}\nwitness w {witness_verifier_key().text} {SILENT}\nquorum w\n")


def test_a_log_of_another_key_is_refused() -> None:
    with pytest.raises(FleetError, match="no device reports: the public log does not vouch"):
        look(WITHOUT_WITNESSES)
