"""`fleet`: many simulated devices."""

import argparse
import json
import os
import secrets
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from devices_sim.devices import simulated_class
from devices_sim.fleet import run_fleet
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.synthetic import PROBABILITY, bernoulli
from panprivacy.device.commands.log import UNCHECKED, log_opened, print_log_check
from panprivacy.device.commands.options import Subparsers, identifier, print_line, verification_key
from panprivacy.device.transport import HttpTransport
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe


def add_fleet(commands: Subparsers, log: argparse.ArgumentParser) -> None:
    """Its options, without those that it shares."""
    fleet = commands.add_parser(
        "fleet",
        parents=[log],
        help="report for many simulated devices",
        description="Report for simulated devices to a recipe for simulations "
        "(`manage.py recipe publish --simulation`), and print one JSON object. If devices take steps, "
        "they have random events (--devices, --rate); else the values of a file (--values). With "
        "--log-policy the public log is checked, once for all devices; --log-state may be left out.",
    )
    fleet.add_argument("--server", required=True, metavar="URL", help="e.g. https://telemetry.example")
    fleet.add_argument("--recipe", required=True, type=identifier, metavar="ID", help="64 hexadecimal digits")
    fleet.add_argument("--devices", type=int, help="number of devices with random events, from 1")
    fleet.add_argument("--rate", type=float, help="probability of an event in a step, from 0 to 1")
    fleet.add_argument(
        "--values",
        type=Path,
        metavar="FILE",
        help="CSV with the devices and their values, for a recipe whose devices have one each; the header is "
        "device,value, or device,x1,…,xd for vectors",
    )
    fleet.add_argument("--seed", type=int, help="repeats the devices' random choices")
    fleet.add_argument(
        "--weights",
        nargs="+",
        type=float,
        metavar="WEIGHT",
        help="relative sizes of the recipe's segments, in their order; equal if left out",
    )
    fleet.add_argument(
        "--attributes",
        metavar="FILE|NAME=VALUE,…",
        help="attributes of the devices, for a recipe with a target: the same for all, or a CSV file "
        "with the header device,NAME,…",
    )
    fleet.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="processes that run devices, 1 to 256"
    )
    by_default = "; by default the server's answer"
    for whose, note in (("verification", by_default), ("helper", ""), ("shuffler", ""), ("issuer", "")):
        fleet.add_argument(
            f"--{whose}-key", type=verification_key, metavar="BASE64", help=f"as of join{note}"
        )
    fleet.set_defaults(run=_fleet)


def _fleet(options: argparse.Namespace) -> None:
    with HttpTransport(options.server) as transport:
        served = transport.recipe(options.recipe)
        # Simulated devices have nothing to lose: they may ask the server itself.
        key = options.verification_key or transport.verification_key()
        if options.log_policy is None and options.log_state is None:
            sys.stderr.write(f"{UNCHECKED}\n")
        else:
            with log_opened(options) as log:
                print_log_check(log.require(served, transport), sys.stderr)
    partner_key = options.helper_key or options.shuffler_key
    recipe = served.verified(key, partner_key, options.issuer_key)
    attributes = None if options.attributes is None else FleetAttributes.parse(options.attributes)
    with _fleet_workload(options, recipe) as workload:
        result = run_fleet(
            served=served,
            verification_key=key,
            partner_key=partner_key,
            issuer_key=options.issuer_key,
            workload=workload,
            transport=options.server,
            seed=options.seed,
            weights=options.weights,
            attributes=attributes,
            processes=options.processes,
        )
    printed = {
        "recipe": options.recipe,
        "devices": result.devices,
        **({} if recipe.target is None else {"outside": result.outside}),
        "sampled": result.sampled,
        "reports": {"accepted": result.accepted, "rejected": dict(result.rejected)},
        "seconds": round(result.elapsed_seconds, 3),
    }
    if recipe.segments:
        printed["segments"] = simulated_class(recipe)(recipe.calibrated_statistic).truth(result).segments
    print_line(json.dumps(printed))


def _fleet_workload(
    options: argparse.Namespace, recipe: PublishedRecipe
) -> AbstractContextManager[Workload[Any]]:
    """The devices that the options describe, with the input that the recipe asks for."""
    steps = recipe.parameters.step_count
    wrong = ("values",) if steps else ("devices", "rate")
    needed = ("devices", "rate") if steps else ("values",)
    kind = "random events" if steps else "one value each"
    for name in wrong:
        if getattr(options, name) is not None:
            raise FieldError(name, f"must be left out: devices of {recipe.statistic} have {kind}")
    for name in needed:
        if getattr(options, name) is None:
            raise FieldError(name, f"is missing: devices of {recipe.statistic} have {kind}")
    if not steps:
        return simulated_class(recipe)(recipe.calibrated_statistic).workload(options.values)
    workload = bernoulli(
        devices=options.devices,
        steps=steps,
        probability=PROBABILITY.check("rate", float, options.rate),
        seed=secrets.randbits(64) if options.seed is None else options.seed,
    )
    return nullcontext(workload)
