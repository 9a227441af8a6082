"""`identity`, `enrol` and `token`: for recipes whose reports need a token."""

import argparse
import secrets
import sys
from pathlib import Path

from panprivacy.device.client import Device
from panprivacy.device.commands.options import Subparsers, print_line
from panprivacy.device.identity import identity_enrol, identity_make, identity_public, identity_read
from panprivacy.device.transport import HttpTransport
from panprivacy.formats.errors import FieldError


def add_tokens(commands: Subparsers, state: argparse.ArgumentParser) -> None:
    """What a device needs for recipes with tokens: an identity, and one token of each recipe."""
    identity_file = argparse.ArgumentParser(add_help=False)
    identity_file.add_argument(
        "--identity", required=True, type=Path, metavar="FILE", help="the file with the device's key"
    )
    identity = commands.add_parser(
        "identity",
        parents=[identity_file],
        help="make the key by which an attester knows this device, and print its public half",
    )
    identity.set_defaults(run=_identity)

    enrol = commands.add_parser(
        "enrol",
        parents=[identity_file],
        help="enrol this device at an attester, with a code of one use",
        description="Have an attester know this device. The code is read from standard input.",
    )
    enrol.add_argument("attester", metavar="URL", help="e.g. https://attester.example/attester")
    enrol.set_defaults(run=_enrol)

    token = commands.add_parser(
        "token",
        parents=[state, identity_file],
        help="ask for the token of a recipe, once its time has come",
        description="Ask the recipe's attester for this device's token, and store it. Every device does so, "
        "sampled or not, from a random time on that `join` has drawn. Run it again until it succeeds: the "
        "same request is sent each time.",
    )
    token.set_defaults(run=_token)


def _identity(options: argparse.Namespace) -> None:
    key = identity_make(options.identity, secrets.SystemRandom())
    print_line(identity_public(key))


def _enrol(options: argparse.Namespace) -> None:
    key = identity_read(options.identity)
    with HttpTransport(options.attester) as attester:
        # Other users of a machine can list its commands, but not the contents of their input.
        if sys.stdin.isatty():
            sys.stderr.write("code: ")
            sys.stderr.flush()
        code = sys.stdin.readline().strip()
        if not code:
            raise FieldError("code", "must be the first line of standard input, as it was handed out")
        identity_enrol(key, attester, code)
    print_line("enrolled")


def _token(options: argparse.Namespace) -> None:
    signing_key = identity_read(options.identity)
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        if device.recipe.admission is None:
            print_line("this recipe needs no token")
            return
        device.obtain_token(transport, signing_key)
        print_line("the token is there")
