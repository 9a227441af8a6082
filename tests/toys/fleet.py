"""Simulated devices of the product's own, against this site in the same process."""

from collections.abc import Callable, Mapping, Set
from typing import Any

from django.test.client import ClientHandler

from devices_sim.fleet import FleetResult, run_fleet
from devices_sim.workloads.bucket import EventWorkload, listed
from recipes.models import Recipe
from storage.signing_key import verification_key
from tests.devices_sim.in_process import InProcessTransport


def collected(recipe: Recipe, devices: Mapping[str, Set[int]]) -> FleetResult:
    """What became of devices with events in some steps, in a simulation: every coin is repeated each time."""
    return run_fleet(
        served=_transport().recipe(str(recipe.identifier)),
        verification_key=verification_key().public_bytes_raw(),
        workload=EventWorkload(steps=recipe.published.parameters.steps, buckets=listed(devices.items())),
        transport=_transport,
        seed=7,
        eager=True,
    )


def _transport() -> InProcessTransport:
    return InProcessTransport(_site)


def _site(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    # Unlike Django's own WSGI application, it leaves the test's connection to the database open.
    response = ClientHandler()(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]
