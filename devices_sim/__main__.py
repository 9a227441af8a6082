"""One device on the command line: `python -m devices_sim join | step | send`, or `send-value`; or a `fleet`.

`identity`, `enrol` and `token` are for recipes whose reports need a token.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached, or it is not time yet. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, the server rejected the report itself, it is unknown whether a value arrived, or the device's token
  was issued and is lost.
"""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from devices_sim.algorithm import DeviceError, Phase
from devices_sim.announcement import announcement
from devices_sim.attributes import FleetAttributes, attributes_given
from devices_sim.client import Device, TokenNotDueError, is_in_target
from devices_sim.fleet import FleetError, run_fleet
from devices_sim.identity import identity_enrol, identity_make, identity_public, identity_read
from devices_sim.log_check import LogCheck
from devices_sim.log_memory import LogMemory
from devices_sim.oblivious_transport import Behind, ObliviousTransport
from devices_sim.rounds_check import Turn, round_require
from devices_sim.rounds_memory import RoundsMemory
from devices_sim.storage import StateFileError
from devices_sim.target_check import target_require
from devices_sim.tokens import AlreadyIssuedError
from devices_sim.transport import (
    BatchFullError,
    HttpTransport,
    RecipeClosedError,
    ReportRejectedError,
    ServedRecipe,
    Transport,
    TransportError,
)
from devices_sim.trust_models import reporting_model
from devices_sim.value_client import UnknownDeliveryError, send_value
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.synthetic import PROBABILITY, bernoulli
from panprivacy import base64_text
from panprivacy.asked_round import FIELD as ROUND
from panprivacy.errors import FieldError
from panprivacy.limits import USUAL, RecipeLimits
from panprivacy.recipe import IDENTIFIER_PATTERN, PublishedRecipe, format_time
from panprivacy.targeting.target import FIELD as TARGET
from panprivacy.transparency.checking import Checked
from panprivacy.transparency.policy import Policy, PolicyError

UNCHECKED = "The public log is not checked: no --log-policy."
VERIFICATION_KEY_BYTES = 32
BAD_INPUT = 2
NOT_DELIVERED = 1
UNDELIVERABLE = 3

LOST = (
    AlreadyIssuedError,
    BatchFullError,
    RecipeClosedError,
    ReportRejectedError,
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
    state = argparse.ArgumentParser(add_help=False)
    state.add_argument("--state", required=True, type=Path, metavar="FILE", help="the device's state file")

    log = _log_options()
    recipe = argparse.ArgumentParser(add_help=False, parents=[log])
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
        "--rounds-state",
        type=Path,
        metavar="FILE",
        help="where the device remembers which rounds it saw, for all recipes; a round of a recipe needs it",
    )

    join = commands.add_parser("join", parents=[recipe, state], help="verify a recipe and take part in it")
    join.add_argument(
        "--helper-key",
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the helper, from a source you trust; a recipe of two servers needs it",
    )
    join.add_argument(
        "--shuffler-key",
        type=_verification_key,
        metavar="BASE64",
        help="that of the shuffler, for a recipe of values with tokens (of others, see send-value)",
    )
    join.add_argument(
        "--issuer-key",
        type=_verification_key,
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

    _add_token_commands(commands, state)

    step = commands.add_parser("step", parents=[state], help="take one time step")
    step.add_argument("--event", action="store_true", help="the event occurred in this step")
    step.add_argument(
        "--number",
        type=int,
        metavar="STEP",
        help="the step's number (1..T); steps that were missed before it had no event",
    )
    step.set_defaults(run=_step)

    send = commands.add_parser("send", parents=[state, log], help="send the report, after the last step")
    send.add_argument(
        "--segment",
        metavar="LABEL",
        help="the device's own, where the recipe asks by segment; empty where it is of none of them",
    )
    send.add_argument(
        "--value",
        metavar="TEXT",
        help="where the recipe asks for one; where left out, the first line of standard input",
    )
    send.set_defaults(run=_send)

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
        type=_verification_key,
        metavar="BASE64",
        help="the Ed25519 key of the shuffler, from a source you trust; recipes with a shuffler need it",
    )
    value.add_argument(
        "--helper-key",
        type=_verification_key,
        metavar="BASE64",
        help="that of the helper; recipes of two servers need it",
    )
    value.add_argument(
        "--value", metavar="TEXT", help="the value; where left out, the first line of standard input"
    )
    value.set_defaults(run=_send_value)

    fleet = commands.add_parser(
        "fleet",
        parents=[log],
        help="report for many simulated devices",
        description="Report for simulated devices to a recipe for simulations "
        "(`manage.py recipe publish --simulation`), and print one JSON object. Where devices take steps, "
        "they have random events (--devices, --rate); else the values of a file (--values). With "
        "--log-policy the public log is checked, once for all devices; --log-state may be left out.",
    )
    fleet.add_argument("--server", required=True, metavar="URL", help="e.g. https://telemetry.example")
    fleet.add_argument(
        "--recipe", required=True, type=_identifier, metavar="ID", help="64 hexadecimal digits"
    )
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
        help="relative sizes of the recipe's segments, in their order; equal where left out",
    )
    fleet.add_argument(
        "--attributes",
        metavar="FILE|NAME=VALUE,…",
        help="what devices know of themselves, for a recipe with a target: the same for all, or a CSV file "
        "with the header device,NAME,…",
    )
    fleet.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="processes that run devices, 1 to 256"
    )
    by_default = "; by default what the server says"
    for whose, note in (("verification", by_default), ("helper", ""), ("shuffler", ""), ("issuer", "")):
        fleet.add_argument(
            f"--{whose}-key", type=_verification_key, metavar="BASE64", help=f"as of join{note}"
        )
    fleet.set_defaults(run=_fleet)
    return parser


def _log_options() -> argparse.ArgumentParser:
    log = argparse.ArgumentParser(add_help=False)
    log.add_argument(
        "--log-policy",
        type=Path,
        metavar="FILE",
        help="refuse a recipe that is not in the public log as this file asks: log, witnesses, quorum (C2SP)",
    )
    log.add_argument(
        "--log-state",
        type=Path,
        metavar="FILE",
        help="where the device remembers what it saw of the log, for all recipes; goes with --log-policy",
    )
    return log


def _add_token_commands(commands: Any, state: argparse.ArgumentParser) -> None:
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
    _say(identity_public(key))


def _enrol(options: argparse.Namespace) -> None:
    key = identity_read(options.identity)
    with HttpTransport(options.attester) as attester:
        # Other users of a machine can list its commands, but not what they are given to read.
        if sys.stdin.isatty():
            sys.stderr.write("code: ")
            sys.stderr.flush()
        code = sys.stdin.readline().strip()
        if not code:
            raise FieldError("code", "must be the first line of standard input, as it was handed out")
        identity_enrol(key, attester, code)
    _say("enrolled")


def _token(options: argparse.Namespace) -> None:
    signing_key = identity_read(options.identity)
    with Device.open(options.state) as device, HttpTransport(device.server) as transport:
        if device.recipe.admission is None:
            _say("this recipe needs no token")
            return
        device.obtain_token(transport, signing_key)
        _say("the token is there")


def _fleet(options: argparse.Namespace) -> None:
    with HttpTransport(options.server) as transport:
        served = transport.recipe(options.recipe)
        # Simulated devices have nothing to lose: they may ask the server itself.
        key = options.verification_key or transport.verification_key()
        if options.log_policy is None and options.log_state is None:
            sys.stderr.write(f"{UNCHECKED}\n")
        else:
            with _log_opened(options) as log:
                _log_tell(log.require(served, transport), sys.stderr)
    partner_key = options.helper_key or options.shuffler_key
    recipe = served.verified(key, partner_key, options.issuer_key)
    attributes = None if options.attributes is None else FleetAttributes.given(options.attributes)
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
    told = {
        "recipe": options.recipe,
        "devices": result.devices,
        **({} if recipe.target is None else {"outside": result.outside}),
        "sampled": result.sampled,
        "reports": {"accepted": result.accepted, "rejected": dict(result.rejected)},
        "seconds": round(result.elapsed_seconds, 3),
    }
    if recipe.segments:
        told["segments"] = reporting_model(recipe).segment_truths(recipe.calibrated_statistic, result)
    _say(json.dumps(told))


def _fleet_workload(
    options: argparse.Namespace, recipe: PublishedRecipe
) -> AbstractContextManager[Workload[Any]]:
    """The devices that the options describe, for the kind of devices that the recipe asks."""
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
        return reporting_model(recipe).workload(options.values, recipe.calibrated_statistic)
    workload = bernoulli(
        devices=options.devices,
        steps=steps,
        probability=PROBABILITY.check("rate", float, options.rate),
        seed=secrets.randbits(64) if options.seed is None else options.seed,
    )
    return nullcontext(workload)


def _join(options: argparse.Namespace) -> None:
    with HttpTransport(options.url) as direct:
        way = direct if options.relay is None else _through_relay(options, direct)
        with way:
            served = way.recipe(options.recipe_id)
            # All that the device looks at must be in the one log that it remembers.
            with _log_followed(options) as log, _rounds_memory(options, served) as memory:
                if log is None:
                    _say(UNCHECKED)
                else:
                    _log_tell(log.require(served, way), sys.stdout)
                _target_require(options, served, way, log)
                _join_checked(options, served, _turn(options, served, way, memory, log))


def _target_require(
    options: argparse.Namespace, served: ServedRecipe, way: Transport, log: LogCheck | None
) -> None:
    """Look at the results that a target rests on, whether or not this device is in it."""
    if TARGET not in served.document:
        return
    partner_key = options.helper_key or options.shuffler_key
    recipe = served.verified(options.verification_key, partner_key, options.issuer_key)
    if recipe.target is not None:
        target_require(
            recipe.target,
            population=recipe.population,
            simulation=recipe.simulation,
            transport=way,
            log=log,
        )


def _join_checked(options: argparse.Namespace, served: ServedRecipe, turn: Turn | None) -> None:
    attributes = None if options.attributes is None else attributes_given(options.attributes)
    with Device.join(
        options.state,
        served,
        verification_key=options.verification_key,
        helper_key=options.helper_key or options.shuffler_key,
        issuer_key=options.issuer_key,
        server=options.url,
        simulation=options.simulation,
        limits=_limits(options),
        announce=_announce,
        sampled=None if turn is None else turn.give,
        attributes=attributes,
    ) as device:
        part = "takes part"
        if not is_in_target(device.recipe, attributes):
            part = "not in its target; asks for its token as the others do, and sends nothing"
        elif device.phase is Phase.NOT_SAMPLED:
            part = "not sampled; takes no part"
        steps = device.recipe.parameters.step_count
        _say(f"joined “{device.recipe.name}”{f' ({steps} steps)' if steps else ''}: {part}")
        if device.asks_at is not None:
            _say(f"asks for its token from {format_time(device.asks_at)} on (`token`)")


def _rounds_memory(
    options: argparse.Namespace, served: ServedRecipe
) -> AbstractContextManager[RoundsMemory | None]:
    if ROUND not in served.document:
        return nullcontext()
    if options.rounds_state is None:
        raise ValueError("this recipe is a round of one in rounds: --rounds-state is needed")
    return RoundsMemory(options.rounds_state)


def _turn(
    options: argparse.Namespace,
    served: ServedRecipe,
    way: Transport,
    memory: RoundsMemory | None,
    log: LogCheck | None,
) -> Turn | None:
    """Look at the document of all rounds, and note the round, where the recipe is one."""
    if memory is None:
        return None
    issuer_key = getattr(options, "issuer_key", None)  # values without tokens have none
    recipe = served.verified(options.verification_key, options.helper_key or options.shuffler_key, issuer_key)
    return round_require(
        recipe,
        way,
        options.verification_key,
        memory=memory,
        log=log,
        limits=None if options.simulation else _limits(options),
    )


def _log_policy(path: Path) -> Policy:
    try:
        return Policy.parse(path.read_bytes())
    except PolicyError as error:
        raise ValueError(f"{path}: {error}") from error


def _log_require(options: argparse.Namespace, served: ServedRecipe, way: Transport) -> None:
    """Look at the public log, where the options say so, and remember what was seen."""
    with _log_followed(options) as log:
        if log is not None:
            _log_tell(log.require(served, way), sys.stdout)


def _log_followed(options: argparse.Namespace) -> AbstractContextManager[LogCheck | None]:
    """The log as the options say and with what is remembered of it, for all that one command looks at."""
    if (options.log_policy is None) != (options.log_state is None):
        raise ValueError("--log-policy and --log-state go together")
    return nullcontext() if options.log_policy is None else _log_opened(options)


@contextmanager
def _log_opened(options: argparse.Namespace) -> Iterator[LogCheck]:
    """The same; memory is kept where the options name a file."""
    if options.log_policy is None:
        raise ValueError("--log-state goes with --log-policy")
    policy = _log_policy(options.log_policy)
    with nullcontext() if options.log_state is None else LogMemory(options.log_state) as memory:
        yield LogCheck(policy, memory)


def _log_tell(checked: Checked, told: TextIO) -> None:
    told.writelines(f"{sentence}\n" for sentence in (*checked.sentences, *checked.unchecked))


def _through_relay(options: argparse.Namespace, direct: Transport) -> Transport:
    return ObliviousTransport(options.url, options.relay, direct, Behind("", options.verification_key))


def _announce(recipe: PublishedRecipe) -> None:
    for line in announcement(recipe):
        _say(line)
    sys.stdout.flush()  # who watches sees it before anything is stored or sent


def _limits(options: argparse.Namespace) -> RecipeLimits:
    return RecipeLimits(
        smallest_cohort=options.smallest_cohort,
        largest_epsilon=options.largest_epsilon,
        largest_local_epsilon=options.largest_local_epsilon,
        largest_delta=options.largest_delta,
    )


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
        asks_for_value = not device.recipe.parameters.step_count and device.phase is Phase.COLLECTING
        value = _value(options) if asks_for_value and device.asks_at is None else None
        delivery = device.send(transport, segment=segment, value=value, before=partial(_log_require, options))
        _say("not sampled: nothing to send" if delivery is None else f"report delivered ({delivery.value})")


def _send_value(options: argparse.Namespace) -> None:
    text = _value(options)
    with HttpTransport(options.url) as transport:
        served = transport.recipe(options.recipe_id)
        with _log_followed(options) as log, _rounds_memory(options, served) as memory:
            if log is not None:
                _log_tell(log.require(served, transport), sys.stdout)
            turn = _turn(options, served, transport, memory, log)
            delivered = send_value(
                text,
                served,
                transport,
                verification_key=options.verification_key,
                partner_key=options.shuffler_key or options.helper_key,
                simulation=options.simulation,
                limits=_limits(options),
                announce=_announce,
                sampled=None if turn is None else turn.give,
            )
    if delivered is None:
        _say("this device does not take part: nothing was sent")
    else:
        _say("value delivered to the shuffler" if options.shuffler_key else "value delivered")


def _value(options: argparse.Namespace) -> str:
    # Other users of a machine can list its commands, but not what they are given to read.
    given: str | None = options.value
    return sys.stdin.readline().rstrip("\r\n") if given is None else given


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
