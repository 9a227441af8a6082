"""`step`, `send` and `send-value`: the steps of a device that joined, and values that need no joining."""

import argparse
import sys
from functools import partial, reduce
from operator import or_

from panprivacy.device.algorithm import Phase
from panprivacy.device.client import Device
from panprivacy.device.commands.lifetime import lifetime_budget, lifetime_memory
from panprivacy.device.commands.log import log_followed, log_require, print_log_check
from panprivacy.device.commands.options import (
    Subparsers,
    announce,
    limits_of,
    print_line,
    value_of,
    verification_key,
)
from panprivacy.device.commands.rounds import rounds_memory, turn_of
from panprivacy.device.transport import HttpTransport
from panprivacy.device.value_client import send_value
from panprivacy.formats.errors import FieldError


def add_step(commands: Subparsers, state: argparse.ArgumentParser) -> None:
    """Its own options, without those that it shares."""
    step = commands.add_parser("step", parents=[state], help="take one time step")
    step.add_argument(
        "--event",
        action="append",
        nargs="?",
        default=[],
        metavar="NAME",
        help="the event occurred in this step; its name if the recipe has several, and again for each",
    )
    step.add_argument(
        "--number",
        type=int,
        metavar="STEP",
        help="the step's number (1..T); steps that were missed before it had no event",
    )
    step.set_defaults(run=_step)


def add_send(commands: Subparsers, state: argparse.ArgumentParser, log: argparse.ArgumentParser) -> None:
    """Its own options, without those that it shares."""
    send = commands.add_parser("send", parents=[state, log], help="send the report, after the last step")
    send.add_argument(
        "--segment",
        metavar="LABEL",
        help="the device's own, if the recipe asks by segment; empty if it is in none",
    )
    send.add_argument(
        "--value",
        metavar="TEXT",
        help="if the recipe asks for one; by default the first line of standard input",
    )
    send.set_defaults(run=_send)


def add_send_value(commands: Subparsers, recipe: argparse.ArgumentParser) -> None:
    """Its own options, without those that it shares."""
    value = commands.add_parser(
        "send-value",
        parents=[recipe],
        help="verify a recipe of values, and send one value",
        description="Verify a recipe of values, randomize a value, and send it: to the shuffler, encrypted "
        "to the analyzer, or as one report to one server or two. Once only: sent again, a value counts "
        "again, and is protected less. Recipes with tokens take `join`, `token` and `send` instead.",
    )
    value.add_argument(
        "--shuffler-key",
        type=verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the shuffler, from a source you trust; recipes with a shuffler need it",
    )
    value.add_argument(
        "--helper-key",
        type=verification_key,
        metavar="BASE64",
        help="that of the helper; recipes of two servers need it",
    )
    value.add_argument(
        "--value", metavar="TEXT", help="the value; by default the first line of standard input"
    )
    value.set_defaults(run=_send_value)


def _step(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device:
        happened = reduce(or_, map(device.bit_of, options.event), 0)
        if options.number is not None:
            device.require_ahead(options.number)
            device.catch_up(options.number - 1)
        device.step(happened, number=options.number)
        print_line(f"step {device.steps_taken} of {device.recipe.parameters.step_count} taken")


def _send(options: argparse.Namespace) -> None:
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        segments, segment = device.recipe.segments, options.segment
        if segments and not (segment == "" or segment in segments):
            raise FieldError("segment", f"must be one of {'; '.join(segments)}, or empty for none of them")
        asks_for_value = not device.recipe.parameters.step_count and device.phase is Phase.COLLECTING
        value = value_of(options) if asks_for_value and device.asks_at is None else None
        delivery = device.send(transport, segment=segment, value=value, before=partial(log_require, options))
        print_line(
            "not sampled: nothing to send" if delivery is None else f"report delivered ({delivery.value})"
        )


def _send_value(options: argparse.Namespace) -> None:
    text = value_of(options)
    with lifetime_memory(options) as lifetime, HttpTransport(options.url) as transport:
        served = transport.recipe(options.recipe_id)
        with log_followed(options) as log, rounds_memory(options, served) as memory:
            if log is not None:
                print_log_check(log.require(served, transport), sys.stdout)
            turn = turn_of(options, served, transport, memory, log)
            delivered = send_value(
                text,
                served,
                transport,
                verification_key=options.verification_key,
                partner_key=options.shuffler_key or options.helper_key,
                simulation=options.simulation,
                limits=limits_of(options),
                lifetime=lifetime_budget(options, lifetime, turn),
                announce=announce,
                sampled=None if turn is None else turn.record_donation,
            )
    if delivered is None:
        print_line("this device does not take part: nothing was sent")
    else:
        print_line("value delivered to the shuffler" if options.shuffler_key else "value delivered")
