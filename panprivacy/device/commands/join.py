"""`join`: verify a recipe, and take part in it."""

import argparse
import sys

from panprivacy.device.algorithm import Phase
from panprivacy.device.attributes import read_attributes
from panprivacy.device.client import Device, is_in_target
from panprivacy.device.commands.lifetime import lifetime_budget, lifetime_memory
from panprivacy.device.commands.log import UNCHECKED, log_followed, print_log_check
from panprivacy.device.commands.options import Subparsers, announce, limits_of, print_line, verification_key
from panprivacy.device.commands.rounds import rounds_memory, turn_of
from panprivacy.device.lifetime import LifetimeBudget
from panprivacy.device.log_check import LogCheck
from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.device.rounds_check import Turn
from panprivacy.device.target_check import target_require
from panprivacy.device.transport import HttpTransport, ServedRecipe, Transport
from panprivacy.formats.times import format_time
from panprivacy.recipe.targeting.target import FIELD as TARGET


def add_join(commands: Subparsers, recipe: argparse.ArgumentParser, state: argparse.ArgumentParser) -> None:
    """Its own options, without those that it shares."""
    join = commands.add_parser("join", parents=[recipe, state], help="verify a recipe and take part in it")
    join.add_argument(
        "--helper-key",
        type=verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the helper, from a source you trust; a recipe of two servers needs it",
    )
    join.add_argument(
        "--shuffler-key",
        type=verification_key,
        metavar="BASE64",
        help="that of the shuffler, for a recipe of values with tokens (of others, see send-value)",
    )
    join.add_argument(
        "--issuer-key",
        type=verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the issuer of tokens, from a source you trust; recipes with tokens need it",
    )
    join.add_argument(
        "--relay",
        metavar="URL",
        help="fetch the recipe through a relay, e.g. https://relay.example/relay/site; reports of a recipe "
        "that names one go through that one only",
    )
    join.add_argument(
        "--attributes",
        metavar="FILE|NAME=VALUE,…",
        help="what this device knows of itself, e.g. os=linux,region=eu; it never leaves the device. A "
        "recipe with a target needs it, and --log-policy",
    )
    join.set_defaults(run=_join)


def _join(options: argparse.Namespace) -> None:
    with lifetime_memory(options) as lifetime, HttpTransport(options.url) as direct:
        site = direct if options.relay is None else _through_relay(options, direct)
        with site:
            served = site.recipe(options.recipe_id)
            # All that the device checks must be in the one log that it remembers.
            with log_followed(options) as log, rounds_memory(options, served) as memory:
                if log is None:
                    print_line(UNCHECKED)
                else:
                    print_log_check(log.require(served, site), sys.stdout)
                _target_require(options, served, site, log)
                turn = turn_of(options, served, site, memory, log)
                _join_checked(options, served, turn, lifetime_budget(options, lifetime, turn))


def _target_require(
    options: argparse.Namespace, served: ServedRecipe, site: Transport, log: LogCheck | None
) -> None:
    """Check the results that a target rests on, whether or not this device is in it."""
    if TARGET not in served.document:
        return
    partner_key = options.helper_key or options.shuffler_key
    recipe = served.verified(options.verification_key, partner_key, options.issuer_key)
    if recipe.target is not None:
        target_require(
            recipe.target,
            population=recipe.population,
            simulation=recipe.simulation,
            transport=site,
            log=log,
        )


def _join_checked(
    options: argparse.Namespace, served: ServedRecipe, turn: Turn | None, lifetime: LifetimeBudget | None
) -> None:
    attributes = None if options.attributes is None else read_attributes(options.attributes)
    with Device.join(
        options.state,
        served,
        verification_key=options.verification_key,
        helper_key=options.helper_key or options.shuffler_key,
        issuer_key=options.issuer_key,
        server=options.url,
        simulation=options.simulation,
        limits=limits_of(options),
        lifetime=lifetime,
        announce=announce,
        sampled=None if turn is None else turn.record_donation,
        attributes=attributes,
    ) as device:
        part = "takes part"
        if not is_in_target(device.recipe, attributes):
            part = "not in its target; asks for its token as the others do, and sends nothing"
        elif device.phase is Phase.NOT_SAMPLED:
            part = "not sampled; takes no part"
        steps = device.recipe.parameters.step_count
        print_line(f"joined “{device.recipe.name}”{f' ({steps} steps)' if steps else ''}: {part}")
        if device.asks_at is not None:
            print_line(f"asks for its token from {format_time(device.asks_at)} on (`token`)")


def _through_relay(options: argparse.Namespace, direct: Transport) -> Transport:
    return ObliviousTransport(options.url, options.relay, direct, Gateway("", options.verification_key))
