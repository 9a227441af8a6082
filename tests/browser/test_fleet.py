"""Devices in Chromium and simulated ones in Python answer the same recipe, and one result counts all of them.

The browsers' page is of another origin than the site, its helper, the relay and the attester, which name that
origin (`PANAPP_DEVICE_ORIGINS`).
"""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Sum
from playwright.sync_api import Browser

from dap.models import BatchBucket
from devices_sim.fleet import run_fleet
from devices_sim.workloads.bucket import EventWorkload, listed
from log.public_log.tree_growth import integrate
from panprivacy.device.log_check import LogCheck
from panprivacy.device.transport import HttpTransport
from publishing.publication import recipe_publish_file
from results.models import Release
from simulations.collect.collection import admitting_beside
from simulations.installation.partners import KINDS, Pairing
from simulations.installation.services import Services, wait_until
from simulations.simulation_ends import simulation_close
from storage.key_halves import public_half
from tests.factories import recipe_members
from tests.panprivacy.device.server import listening
from tests.patience import PATIENCE
from tests.processes import services_of_a_module, without_witnesses
from tokens.admission.selectors import issued_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.processes]

STEPS = 3
TWO_SERVERS = {"trust": "two_server", "cohort_size": 20}
"""The margin is at most 16: with 36 reports, and so with 42, there surely is a result."""
BEGIN = """async ({ id, site }) => {
  const { atSite, PageDevice } = await import("/devices-web.js");
  window.failures = [];
  window.phase = "";
  window.isJoined = false;
  window.device = new PageDevice(id, {
    ...atSite(id, site),
    stored: (state) => {
      phase = state.phase;
      isJoined = phase === "collecting" && state.token?.token !== "";
    },
    failed: (error) => failures.push(String(error)),
  });
}"""


@pytest.fixture(scope="module")
def page_address(bundle: str) -> Iterator[str]:
    """Of a page that loads the bundle, and of nothing else."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        is_bundle = environ["PATH_INFO"] == "/devices-web.js"
        kind = "text/javascript" if is_bundle else "text/html"
        start_response("200 OK", [("Content-Type", f"{kind}; charset=utf-8")])
        return [(bundle if is_bundle else "<!doctype html><title>device</title>").encode()]

    with listening(answer) as address:
        yield address


@pytest.fixture(scope="module")
def services(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory, page_address: str
) -> Iterator[Services]:
    named = {"PANAPP_DEVICE_ORIGINS": page_address}
    data = tmp_path_factory.mktemp("beside")
    own_variables = Pairing.partner_variables
    with pytest.MonkeyPatch.context() as patched, django_db_blocker.unblock():
        patched.setattr(
            Pairing, "partner_variables", lambda *given, **more: {**own_variables(*given, **more), **named}
        )
        with services_of_a_module(
            partners={role: data / role for role in KINDS if role != "shuffler"},
            environment={**without_witnesses(data), **named},
        ) as started:
            yield started


@pytest.mark.parametrize(
    ("asked", "simulated", "browsers"),
    [
        ({"cohort_size": 104}, 100, 4),
        (TWO_SERVERS, 40, 2),
        ({**TWO_SERVERS, "relay": True}, 40, 2),
        ({"admission": "token", "cohort_size": 42}, 40, 2),
        ({**TWO_SERVERS, "relay": True, "admission": "token"}, 40, 2),
    ],
)
def test_one_result_counts_simulated_devices_and_real_browsers(
    browser: Browser,
    services: Services,
    page_address: str,
    asked: dict[str, Any],
    simulated: int,
    browsers: int,
) -> None:
    helper, issuer = services.pairings["helper"], services.pairings["issuer"]
    recipe = recipe_publish_file(
        members=recipe_members(steps=STEPS, **asked),
        actor=None,
        simulation=True,
        partners={"two_server": helper.partner()},
        admitting=admitting_beside(services.pairings),
    )
    key = public_half(settings.SIGNING_KEY)
    with HttpTransport(services.base_url) as transport:
        served = transport.recipe(str(recipe.identifier))
        # A real one comes again where the log does not have it yet.
        integrate()
        LogCheck(services.log_policy).require(served, transport)
        policy = transport.get("/log/policy").body.decode()
    fleet = run_fleet(
        served=served,
        verification_key=key,
        partner_key=helper.key,
        issuer_key=issuer.key,
        workload=EventWorkload(STEPS, listed((f"d{n}", {1} if n % 3 else set()) for n in range(simulated))),
        transport=services.base_url,
    )
    assert fleet.accepted == simulated
    site = {
        "server": services.base_url,
        "keys": {
            name: base64.b64encode(of).decode()
            for name, of in (("server", key), ("helper", helper.key), ("issuer", issuer.key))
        },
        "policy": policy,
        "simulation": True,
    }
    for _ in range(browsers):
        report_from_a_browser(browser, page_address, recipe, site)

    simulation_close(recipe=recipe, actor=None)
    assert wait_until(lambda: Release.objects.filter(recipe=recipe).exists(), PATIENCE)
    release = Release.objects.get(recipe=recipe)
    assert (release.outcome, release.rejected) == ("released", {})
    # Two servers publish their number with noise.
    buckets = BatchBucket.objects.filter(task__task_id=bytes.fromhex(str(recipe.identifier)))
    exact = buckets.aggregate(n=Sum("report_count"))["n"] if "trust" in asked else release.reports
    assert exact == simulated + browsers
    if "admission" in asked:
        assert issued_of(recipe) == simulated + browsers


def report_from_a_browser(browser: Browser, address: str, recipe: Any, site: dict[str, Any]) -> None:
    """One with storage of its own joins, has an event, and reports once the steps are over by its clock."""
    context = browser.new_context()
    try:
        context.set_default_timeout(1_000 * PATIENCE)
        page = context.new_page()
        page.clock.install(time=recipe.published.opens_at)
        page.goto(address)
        page.evaluate(BEGIN, {"id": str(recipe.identifier), "site": site})
        page.wait_for_function("isJoined || failures.length")
        page.evaluate("device.event()")
        page.clock.fast_forward(1_000 * (STEPS * recipe.published.step_seconds + 60))
        page.wait_for_function("phase === 'done' || failures.length")
        assert page.evaluate("failures") == []
    finally:
        context.close()
