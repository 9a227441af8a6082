"""One device on the command line: `python -m devices_sim join | step | send`, or `send-value`.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, the server rejected the report itself, or it is unknown whether a value arrived.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from devices_sim.algorithm import DeviceError, Phase
from devices_sim.client import Device
from devices_sim.storage import StateFileError
from devices_sim.transport import (
    BatchFullError,
    HttpTransport,
    RecipeClosedError,
    ReportRejectedError,
    TransportError,
)
from devices_sim.value_client import UnknownDeliveryError, send_value
from panprivacy import base64_text
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
    except (BatchFullError, RecipeClosedError, ReportRejectedError, UnknownDeliveryError) as error:
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
        _say(f"joined “{device.recipe.name}” ({device.recipe.parameters.step_count} steps): {part}")


def _step(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device:
        if options.number is not None:
            device.require_ahead(options.number)
            device.catch_up(options.number - 1)
        device.step(options.event, number=options.number)
        _say(f"step {device.steps_taken} of {device.recipe.parameters.step_count} taken")


def _send(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        delivery = device.send(transport)
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
