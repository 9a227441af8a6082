"""The command line of a device: its parser, and the exit codes of its errors.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached, or it is too early. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, or the server rejected the report itself. Or it is unknown whether a value arrived, or the device can
  get no token of the recipe.
- 130: interrupted.
- 141: the reader of the output has ended. If it is full, the code is 1.
"""

import argparse
import sys
from collections.abc import Sequence

from panprivacy.device.algorithm import DeviceError
from panprivacy.device.client import IssuanceRefusedError, TokenNotDueError
from panprivacy.device.commands.join import add_join
from panprivacy.device.commands.log import log_options
from panprivacy.device.commands.options import Subparsers, printable, recipe_options, state_options
from panprivacy.device.commands.report import add_send, add_send_value, add_step
from panprivacy.device.commands.tokens import add_tokens
from panprivacy.device.commands.view import add_view
from panprivacy.device.storage import StateFileError
from panprivacy.device.tokens import TokenLostError
from panprivacy.device.transport import BatchFullError, RecipeClosedError, ReportRejectedError, TransportError
from panprivacy.device.value_client import UnknownDeliveryError
from panprivacy.planning.limits import LimitError

BAD_INPUT = 2
NOT_DELIVERED = 1
UNDELIVERABLE = 3

LOST = (
    BatchFullError,
    RecipeClosedError,
    ReportRejectedError,
    TokenLostError,
    IssuanceRefusedError,
    UnknownDeliveryError,
)


def device_parser(program: str) -> tuple[argparse.ArgumentParser, Subparsers]:
    """The parser of a device's commands, and its subparsers, to which other commands can be added.

    Args:
        program: as it is called, for the help.
    """
    parser = argparse.ArgumentParser(prog=program, description="A device of a private collection.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    state, log = state_options(), log_options()
    recipe = recipe_options(log)
    add_join(commands, recipe, state)
    add_tokens(commands, state)
    add_step(commands, state)
    add_send(commands, state, log)
    add_send_value(commands, recipe)
    add_view(commands, state)
    return parser, commands


def run_command(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    *,
    retriable: tuple[type[Exception], ...] = (),
) -> int:
    """Run one command; returns the exit code.

    Args:
        arguments: those of this process if None.
        retriable: errors of added commands after which another attempt may succeed.
    """
    options = parser.parse_args(arguments)
    undelivered: tuple[type[Exception], ...] = (TransportError, TokenNotDueError, *retriable)
    try:
        options.run(options)
    except LOST as error:
        return _fail(error, UNDELIVERABLE)
    except undelivered as error:
        return _fail(error, NOT_DELIVERED)
    except (DeviceError, StateFileError, ValueError, OSError) as error:
        return _fail(error, BAD_INPUT)
    return 0


def _fail(error: Exception, code: int) -> int:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, LimitError):
        first_line += f"; --{error.limit.replace('_', '-')} sets another limit"
    sys.stderr.write(f"error: {printable(first_line)}\n")
    return code
