"""One device on the command line: `python -m devices_sim join | step | send`.

Exit codes: 0 done, 1 the server refused or could not be reached (try again), 2 bad input or
a state that does not allow the command, 3 the report will never be taken (do not try again): the
recipe is closed, or the server rejected the report itself.
"""

import argparse
import base64
import binascii
import sys
from collections.abc import Sequence
from pathlib import Path

from devices_sim.algorithm import DeviceError, Phase
from devices_sim.client import Device
from devices_sim.storage import StateFileError
from devices_sim.transport import HttpTransport, RecipeClosedError, ReportRejectedError, TransportError
from panprivacy.recipe import IDENTIFIER_PATTERN

VERIFICATION_KEY_BYTES = 32
BAD_INPUT = 2
NOT_DELIVERED = 1
UNDELIVERABLE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (RecipeClosedError, ReportRejectedError) as error:
        return _fail(error, UNDELIVERABLE)
    except TransportError as error:
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

    join = commands.add_parser("join", parents=[state], help="verify a recipe and take part in it")
    join.add_argument("url", metavar="URL", help="the server, e.g. https://telemetry.example")
    join.add_argument("recipe_id", metavar="RECIPE_ID", type=_identifier, help="64 hexadecimal digits")
    join.add_argument(
        "--verification-key",
        required=True,
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key that signs the server's recipes, from a source you trust",
    )
    join.add_argument(
        "--helper-key",
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the helper, from a source you trust; a recipe of two servers needs it",
    )
    join.add_argument("--simulation", action="store_true", help="this is a simulated device")
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
    send.set_defaults(run=_send)
    return parser


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
    ) as device:
        part = "not sampled; takes no part" if device.phase is Phase.NOT_SAMPLED else "takes part"
        _say(f"joined “{device.recipe.name}” ({device.recipe.parameters.steps} steps): {part}")


def _step(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device:
        if options.number is not None:
            device.require_ahead(options.number)
            device.catch_up(options.number - 1)
        device.step(options.event, number=options.number)
        _say(f"step {device.steps_taken} of {device.recipe.parameters.steps} taken")


def _send(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        delivery = device.send(transport)
        _say("not sampled: nothing to send" if delivery is None else f"report delivered ({delivery.value})")


def _identifier(text: str) -> str:
    if not IDENTIFIER_PATTERN.fullmatch(text):
        raise argparse.ArgumentTypeError("must be 64 lower-case hexadecimal digits")
    return text


def _verification_key(text: str) -> bytes:
    message = f"must be {VERIFICATION_KEY_BYTES} bytes in base64"
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise argparse.ArgumentTypeError(message) from None
    if len(key) != VERIFICATION_KEY_BYTES:
        raise argparse.ArgumentTypeError(message)
    return key


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
