"""One device on the command line: `python -m devices_sim join | step | send`, or `send-value`; or a `fleet`.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, the server rejected the report itself, or it is unknown whether a value arrived.
"""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from devices_sim.algorithm import DeviceError, Phase
from devices_sim.announcement import announcement
from devices_sim.client import Device, RecipeRefusedError
from devices_sim.fleet import FleetError, run_fleet
from devices_sim.storage import StateFileError
from devices_sim.transport import (
    BatchFullError,
    HttpTransport,
    RecipeClosedError,
    ReportRejectedError,
    TransportError,
)
from devices_sim.trust_models import reporting_model
from devices_sim.value_client import UnknownDeliveryError, send_value
from devices_sim.workloads.synthetic import PROBABILITY, bernoulli
from panprivacy import base64_text
from panprivacy.errors import FieldError
from panprivacy.limits import USUAL, RecipeLimits
from panprivacy.recipe import IDENTIFIER_PATTERN, PublishedRecipe

VERIFICATION_KEY_BYTES = 32
BAD_INPUT = 2
NOT_DELIVERED = 1
UNDELIVERABLE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (BatchFullError, RecipeClosedError, ReportRejectedError, UnknownDeliveryError) as error:
        return _fail(error, UNDELIVERABLE)
    except (FleetError, TransportError) as error:
        return _fail(error, NOT_DELIVERED)
    except (DeviceError, StateFileError, ValueError, OSError) as error:
        return _fail(error, BAD_INPUT)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m devices_sim", description="A device of a private collection."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    state = argparse.ArgumentParser(add_help=False)
    state.add_argument("--state", required=True, type=Path, metavar="FILE", help="the device's state file")

    recipe = argparse.ArgumentParser(add_help=False)
    recipe.add_argument("url", metavar="URL", help="the server, e.g. https://telemetry.example")
    recipe.add_argument("recipe_id", metavar="RECIPE_ID", type=_identifier, help="64 hexadecimal digits")
    recipe.add_argument(
        "--verification-key",
        required=True,
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key that signs the server's recipes, from a source you trust",
    )
    recipe.add_argument("--simulation", action="store_true", help="this is a simulated device")
    recipe.add_argument(
        "--largest-epsilon",
        type=float,
        default=USUAL.largest_epsilon,
        metavar="EPSILON",
        help="take part in no recipe with a larger ε (default: %(default)g; simulations have no limit)",
    )
    recipe.add_argument(
        "--largest-local-epsilon",
        type=float,
        default=USUAL.largest_local_epsilon,
        metavar="EPSILON",
        help="take part in no recipe whose single reports have a larger local ε (default: %(default)g)",
    )
    recipe.add_argument(
        "--smallest-cohort",
        type=int,
        default=USUAL.smallest_cohort,
        metavar="DEVICES",
        help="take part in no recipe that may release a result over fewer (default: %(default)s)",
    )

    join = commands.add_parser("join", parents=[recipe, state], help="verify a recipe and take part in it")
    join.add_argument(
        "--helper-key",
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the helper, from a source you trust; a recipe of two servers needs it",
    )
    join.set_defaults(run=_join)

    step = commands.add_parser("step", parents=[state], help="take one time step")
    step.add_argument("--event", action="store_true", help="the event occurred in this step")
    step.add_argument(
        "--number",
        type=int,
        metavar="STEP",
        help="the step's number (1..T); steps that were missed before it had no event",
    )
    step.set_defaults(run=_step)

    send = commands.add_parser("send", parents=[state], help="send the report, after the last step")
    send.add_argument(
        "--segment",
        metavar="LABEL",
        help="the device's own, where the recipe asks by segment; empty where it is of none of them",
    )
    send.set_defaults(run=_send)

    value = commands.add_parser(
        "send-value",
        parents=[recipe],
        help="verify a recipe with a shuffler, and send one value",
        description="Verify a recipe with a shuffler, randomize a value, encrypt it to the analyzer, and "
        "send it to the shuffler. Once only: sent again, a value counts again, and is protected less.",
    )
    value.add_argument(
        "--shuffler-key",
        required=True,
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the shuffler, from a source you trust",
    )
    value.add_argument(
        "--value", metavar="TEXT", help="the value; where left out, the first line of standard input"
    )
    value.set_defaults(run=_send_value)

    fleet = commands.add_parser(
        "fleet",
        help="report for many simulated devices",
        description="Report for simulated devices with random events to a recipe for simulations "
        "(`manage.py recipe publish --simulation`), and print one JSON object.",
    )
    fleet.add_argument("--server", required=True, metavar="URL", help="e.g. https://telemetry.example")
    fleet.add_argument(
        "--recipe", required=True, type=_identifier, metavar="ID", help="64 hexadecimal digits"
    )
    fleet.add_argument("--devices", required=True, type=int, help="number of devices, from 1")
    fleet.add_argument(
        "--rate", required=True, type=float, help="probability of an event in a step, from 0 to 1"
    )
    fleet.add_argument("--seed", type=int, help="repeats the devices' random choices")
    fleet.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="processes that run devices, 1 to 256"
    )
    for whose, note in (("verification", "; by default what the server says"), ("helper", "")):
        fleet.add_argument(
            f"--{whose}-key", type=_verification_key, metavar="BASE64", help=f"as of join{note}"
        )
    fleet.set_defaults(run=_fleet)
    return parser


def _fleet(options: argparse.Namespace) -> None:
    rate = PROBABILITY.check("rate", float, options.rate)
    with HttpTransport(options.server) as transport:
        served = transport.recipe(options.recipe)
        # Simulated devices have nothing to lose: they may ask the server itself.
        key = options.verification_key or transport.verification_key()
    recipe = served.verified(key, options.helper_key)
    if not recipe.parameters.step_count:
        raise RecipeRefusedError("devices take no steps in this recipe: a fleet has random events only")
    result = run_fleet(
        served=served,
        verification_key=key,
        partner_key=options.helper_key,
        workload=bernoulli(
            devices=options.devices,
            steps=recipe.parameters.step_count,
            probability=rate,
            seed=secrets.randbits(64) if options.seed is None else options.seed,
        ),
        transport=options.server,
        seed=options.seed,
        processes=options.processes,
    )
    told = {
        "recipe": options.recipe,
        "devices": result.devices,
        "sampled": result.sampled,
        "reports": {"accepted": result.accepted, "rejected": dict(result.rejected)},
        "seconds": round(result.elapsed_seconds, 3),
    }
    if recipe.segments:
        told["segments"] = reporting_model(recipe).segment_truths(recipe.calibrated_statistic, result)
    _say(json.dumps(told))


def _join(options: argparse.Namespace) -> None:
    with HttpTransport(options.url) as transport:
        served = transport.recipe(options.recipe_id)
    with Device.join(
        options.state,
        served,
        verification_key=options.verification_key,
        helper_key=options.helper_key,
        server=options.url,
        simulation=options.simulation,
        limits=_limits(options),
        announce=_announce,
    ) as device:
        part = "not sampled; takes no part" if device.phase is Phase.NOT_SAMPLED else "takes part"
        _say(f"joined “{device.recipe.name}” ({device.recipe.parameters.step_count} steps): {part}")


def _announce(recipe: PublishedRecipe) -> None:
    for line in announcement(recipe):
        _say(line)
    sys.stdout.flush()  # whoever watches sees it before anything is stored or sent


def _limits(options: argparse.Namespace) -> RecipeLimits:
    return RecipeLimits(options.smallest_cohort, options.largest_epsilon, options.largest_local_epsilon)


def _step(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device:
        if options.number is not None:
            device.require_ahead(options.number)
            device.catch_up(options.number - 1)
        device.step(options.event, number=options.number)
        _say(f"step {device.steps_taken} of {device.recipe.parameters.step_count} taken")


def _send(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        segments, segment = device.recipe.segments, options.segment
        if segments and not (segment == "" or segment in segments):
            raise FieldError("segment", f"must be one of {'; '.join(segments)}, or empty for none of them")
        delivery = device.send(transport, segment=segment)
        _say("not sampled: nothing to send" if delivery is None else f"report delivered ({delivery.value})")


def _send_value(options: argparse.Namespace) -> None:
    # Other users of a machine can list its commands, but not what they are given to read.
    text = sys.stdin.readline().rstrip("\r\n") if options.value is None else options.value
    with HttpTransport(options.url) as transport:
        send_value(
            text,
            transport.recipe(options.recipe_id),
            transport,
            verification_key=options.verification_key,
            shuffler_key=options.shuffler_key,
            simulation=options.simulation,
            limits=_limits(options),
            announce=_announce,
        )
    _say("value delivered to the shuffler")


def _identifier(text: str) -> str:
    if not IDENTIFIER_PATTERN.fullmatch(text):
        raise argparse.ArgumentTypeError("must be 64 lower-case hexadecimal digits")
    return text


def _verification_key(text: str) -> bytes:
    try:
        return base64_text.decode(text, VERIFICATION_KEY_BYTES)
    except base64_text.Base64Error as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _fail(error: Exception, code: int) -> int:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    # What a server said goes to a terminal: no escape sequences.
    printable = "".join(character if character.isprintable() else "?" for character in first_line)
    sys.stderr.write(f"error: {printable}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
