"""Options that several commands share, their parsing, and the commands' output."""

import argparse
import sys
from pathlib import Path
from typing import TypeAlias

from panprivacy.device.announcement import announcement
from panprivacy.device.lifetime import lifetime_epsilon
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL, RecipeLimits
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of
from panprivacy.recipe.document import IDENTIFIER_PATTERN, PublishedRecipe

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What `ArgumentParser.add_subparsers` returns: commands are added to it."""

VERIFICATION_KEY_BYTES = 32


def state_options() -> argparse.ArgumentParser:
    """The files in which a device keeps what it must remember of one recipe."""
    state = argparse.ArgumentParser(add_help=False)
    state.add_argument("--state", required=True, type=Path, metavar="FILE", help="the device's state file")
    return state


def recipe_options(log: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The recipe, its server, and the limits that the device accepts. Has the options of the log, too."""
    recipe = argparse.ArgumentParser(add_help=False, parents=[log])
    recipe.add_argument("url", metavar="URL", help="the server, e.g. https://telemetry.example")
    recipe.add_argument("recipe_id", metavar="RECIPE_ID", type=identifier, help="64 hexadecimal digits")
    recipe.add_argument(
        "--verification-key",
        required=True,
        type=verification_key,
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
        "--largest-delta",
        type=float,
        default=USUAL.largest_delta,
        metavar="DELTA",
        help="take part in no recipe with a larger δ, the probability that a guarantee fails "
        "(default: %(default)g)",
    )
    recipe.add_argument(
        "--smallest-cohort",
        type=int,
        default=USUAL.smallest_cohort,
        metavar="DEVICES",
        help="take part in no recipe that may release a result over fewer (default: %(default)s)",
    )
    recipe.add_argument(
        "--lifetime-epsilon",
        type=_lifetime_epsilon,
        metavar="EPSILON",
        help="the most that local ε of all recipes ever joined may add up to",
    )
    recipe.add_argument(
        "--lifetime-state",
        type=Path,
        metavar="FILE",
        help="the file in which the device remembers what it ever joined, for all recipes (default: the file "
        "`lifetime` in the folder of the state)",
    )
    recipe.add_argument(
        "--rounds-state",
        type=Path,
        metavar="FILE",
        help="in which the device remembers rounds that it saw, for all recipes; a recipe's round needs it",
    )
    return recipe


def limits_of(options: argparse.Namespace) -> RecipeLimits:
    """The limits that the device accepts, from `recipe_options`."""
    return RecipeLimits(
        smallest_cohort=options.smallest_cohort,
        largest_epsilon=options.largest_epsilon,
        largest_local_epsilon=options.largest_local_epsilon,
        largest_delta=options.largest_delta,
    )


def _lifetime_epsilon(text: str) -> float:
    try:
        return lifetime_epsilon(float(text))
    except FieldError as error:
        raise argparse.ArgumentTypeError(error.message) from None
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number") from None


def value_of(options: argparse.Namespace) -> str:
    """The value, from the option or standard input."""
    # Other users of a machine can list its commands, but not the contents of their input.
    value: str | None = options.value
    return sys.stdin.readline().rstrip("\r\n") if value is None else value


def identifier(text: str) -> str:
    """An identifier of a recipe."""
    if not IDENTIFIER_PATTERN.fullmatch(text):
        raise argparse.ArgumentTypeError("must be 64 lower-case hexadecimal digits")
    return text


def verification_key(text: str) -> bytes:
    """An Ed25519 key."""
    try:
        key = base64_text.decode(text, VERIFICATION_KEY_BYTES)
        public_key_of(key)
    except (base64_text.Base64Error, KeyRefusedError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return key


def announce(recipe: PublishedRecipe) -> None:
    """Print what a device is about to do."""
    for line in announcement(recipe):
        print_line(line)
    sys.stdout.flush()  # the user sees it first; nothing is stored or sent yet


def print_line(line: str) -> None:
    """One line of output."""
    sys.stdout.write(line + "\n")


def printable(line: str) -> str:
    """A line that goes to a terminal, without escape sequences: words of a server, or the name of a file."""
    return "".join(character if character.isprintable() else "?" for character in line)
