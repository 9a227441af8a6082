"""One device on the command line: `python -m devices_sim join | step | send`, or `send-value`; or a `fleet`.

`identity`, `enrol` and `token` are for recipes whose reports need a token.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached, or it is too early. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, the server rejected the report itself, it is unknown whether a value arrived, or the device gets no
  token of the recipe any more.
- 130: interrupted.
- 141: the reader of the output has ended. If it is full, the code is 1.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import argparse
import sys
from collections.abc import Sequence

from devices_sim.algorithm import DeviceError
from devices_sim.client import TokenNotDueError, TokenRefusedError
from devices_sim.commands.fleet import add_fleet
from devices_sim.commands.join import add_join
from devices_sim.commands.log import log_options
from devices_sim.commands.options import recipe_options, state_options
from devices_sim.commands.report import add_send, add_send_value, add_step
from devices_sim.commands.tokens import add_tokens
from devices_sim.fleet import FleetError
from devices_sim.storage import StateFileError
from devices_sim.tokens import TokenLostError
from devices_sim.transport import BatchFullError, RecipeClosedError, ReportRejectedError, TransportError
from devices_sim.value_client import UnknownDeliveryError
from panprivacy.planning.limits import LimitError

BAD_INPUT = 2
NOT_DELIVERED = 1
UNDELIVERABLE = 3

LOST = (
    BatchFullError,
    RecipeClosedError,
    ReportRejectedError,
    TokenLostError,
    TokenRefusedError,
    UnknownDeliveryError,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except LOST as error:
        return _fail(error, UNDELIVERABLE)
    except (FleetError, TransportError, TokenNotDueError) as error:
        return _fail(error, NOT_DELIVERED)
    except (DeviceError, StateFileError, ValueError, OSError) as error:
        return _fail(error, BAD_INPUT)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m devices_sim", description="A device of a private collection."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    state, log = state_options(), log_options()
    recipe = recipe_options(log)
    add_join(commands, recipe, state)
    add_tokens(commands, state)
    add_step(commands, state)
    add_send(commands, state, log)
    add_send_value(commands, recipe)
    add_fleet(commands, log)
    return parser


def _fail(error: Exception, code: int) -> int:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, LimitError):
        first_line += f"; --{error.limit.replace('_', '-')} sets another limit"
    # A server's text goes to a terminal: no escape sequences.
    printable = "".join(character if character.isprintable() else "?" for character in first_line)
    sys.stderr.write(f"error: {printable}\n")
    return code


if __name__ == "__main__":
    console.run(main)
