"""A real device: one recipe, one state, one report.

The state is in a file, or in a store of the caller's own (`storage`). It is replaced as a whole after every
step. A device that loses power has therefore taken its step, or has not. An attacker that reads the state
before and after every step sees only ciphertexts, and each of them changes every time.
"""

import random
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.algorithm import (
    ClientAlgorithm,
    DeviceError,
    DeviceState,
    ParticipationOverError,
    Phase,
    WrongStepError,
    reported_state,
    wire_report,
)
from panprivacy.device.attributes import NONE_GIVEN
from panprivacy.device.lifetime import LifetimeBudget
from panprivacy.device.state_file import DoneState, Enrolment, LiveState, decode, encode
from panprivacy.device.storage import StateStore, location_name, open_store
from panprivacy.device.tokens import TokenClient, TokenLostError, TokenState, token_drawn
from panprivacy.device.transport import (
    Closable,
    Delivery,
    RecipeClosedError,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
)
from panprivacy.device.trust_models import report_path
from panprivacy.device.upload import Upload
from panprivacy.device.value_reports import value_reports
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from panprivacy.planning.limits import USUAL, RecipeLimits
from panprivacy.recipe.document import PublishedRecipe


class AlreadyJoinedError(DeviceError):
    """There is a state already; joining again would toss the sampling coin again."""


class NotJoinedError(DeviceError):
    """There is no state."""


class RecipeRefusedError(DeviceError):
    """A verified recipe that this device does not take part in: closed, or for simulated devices."""


class TokenNotDueError(DeviceError):
    """It is too early: this device asks for its token at a later, random time."""


class NoTokenError(DeviceError):
    """A report that needs a token, of a device that has not asked for it yet."""


class IssuanceRefusedError(ParticipationOverError):
    """This device is done with the recipe: it never got its token."""


class Device(Closable):
    """One device's part in one recipe. Use it as a context manager: it holds a lock on its file.

    Made by `join` (once) or `open` (every later time). Not safe to share between threads. After an
    error from the file system or the store the object refuses to go on. Open the state again: it is that
    before or after the operation.
    """

    def __init__(
        self, store: StateStore, live: LiveState, random_source: random.Random, opened: ExitStack
    ) -> None:
        self._store = store
        self._opened = opened
        self._enrolment = live.enrolment
        self._state = live.state
        self._token = live.token
        self._random_source = random_source
        self._usable = True
        self.recipe = live.recipe

    @cached_property
    def _algorithm(self) -> ClientAlgorithm:
        if not self.recipe.parameters.step_count:
            raise WrongStepError("devices take no steps in this recipe: they send one value")
        return ClientAlgorithm(self.recipe)

    @classmethod
    def join(
        cls,
        location: Path | StateStore,
        served: ServedRecipe,
        *,
        verification_key: bytes,
        helper_key: bytes | None = None,
        issuer_key: bytes | None = None,
        server: str = "",
        simulation: bool = False,
        limits: RecipeLimits = USUAL,
        lifetime: LifetimeBudget | None = None,
        announce: Callable[[PublishedRecipe], None] | None = None,
        sampled: Callable[[], None] | None = None,
        attributes: Mapping[str, str] | None = None,
        random_source: random.Random | None = None,
        now: datetime | None = None,
    ) -> "Device":
        """Verify a recipe, toss the sampling coin, and write the first state.

        Args:
            location: the state file to be, whose directory must exist; or a store that has no content.
            served: the recipe as fetched.
            verification_key: the server's Ed25519 key (32 bytes), pinned beforehand.
            helper_key: the helper's or the shuffler's, also pinned; a recipe with one is refused without it.
            issuer_key: the key of the issuer of tokens, also pinned; a recipe with tokens is refused without
                it.
            server: the server's address, kept in the state for `send`'s caller.
            simulation: whether this device is a simulated one.
            limits: of this device, for recipes that are no simulations.
            lifetime: the budget of all that this device ever joins, if it has one.
            announce: called first with the verified recipe, then coins are tossed and the state is stored; if
                it raises, nothing is stored.
            sampled: called if the coin lets the device take part, and nothing is stored yet.
            attributes: what this device knows about itself; a recipe with a target refuses None. Outside the
                target it behaves as a device that is not sampled: it asks for its token and sends nothing.
                `target_check` checks separately that enough devices are in the target.
            random_source: `secrets.SystemRandom()` by default; seeded ones in simulations only.
            now: the time, by default the clock's. The device asks for its token from a moment between this
                time and the first possible report.

        Raises:
            RecipeVerificationError: identifier or a signature does not hold, or the helper's or the issuer's
                key is missing or another.
            FieldError: the recipe is the server's, but its noise does not keep the guarantee it names, or it
                exceeds this device's limits; or `attributes` are needed.
            RecipeRefusedError: a recipe for simulations on a real device or the reverse, a closed one, or
                one of values without tokens: such a device keeps no state.
            LimitError: the recipe exceeds `lifetime`.
            AlreadyJoinedError: there is a state, or `lifetime` has the recipe.
            StateFileBusyError: another process has the file open.
            StateFileError: its directory does not exist or cannot be written.
        """
        enrolment = Enrolment(served, verification_key, server, helper_key, issuer_key)
        recipe = enrolment.verified()
        require_takes_part(recipe, served, simulation=simulation, limits=limits)
        takes_steps = bool(recipe.parameters.step_count)
        if not takes_steps and recipe.admission is None:
            raise RecipeRefusedError("devices take no steps in this recipe (of values, see send-value)")
        is_asked = is_in_target(recipe, attributes)
        if lifetime is not None:
            if lifetime.has_joined(recipe):
                raise AlreadyJoinedError("this device has joined this recipe already, by its lifetime budget")
            lifetime.require(recipe)
        if announce is not None:
            announce(recipe)
        source = secrets.SystemRandom() if random_source is None else random_source

        def start(content: bytes | None, store: StateStore, opened: ExitStack) -> "Device":
            if content is not None:
                raise AlreadyJoinedError(f"{location_name(location)} exists: this device has joined already")
            if lifetime is not None:
                lifetime.count(recipe)
            token = None if recipe.admission is None else token_drawn(recipe, source, now=_now(now))
            if not is_asked:
                state = DeviceState(phase=Phase.NOT_SAMPLED)
            elif takes_steps:
                state = ClientAlgorithm(recipe).start(source, None if token is None else token.report_nonce)
            else:
                is_sampled = value_reports(recipe).is_sampled(source)
                state = DeviceState(phase=Phase.COLLECTING if is_sampled else Phase.NOT_SAMPLED)
            gives = state.phase is not Phase.NOT_SAMPLED
            if sampled is not None and gives:
                sampled()
            store.write(encode(enrolment, state, token))
            if lifetime is not None:
                lifetime.record_joined(recipe, gives=gives)
            return cls(store, LiveState(enrolment, recipe, state, token), source, opened.pop_all())

        return _with_store(location, start)

    @classmethod
    def open(cls, location: Path | StateStore, *, random_source: random.Random | None = None) -> "Device":
        """Go on from the state.

        Args:
            location: the state file, or the store.
            random_source: as in `join`.

        Raises:
            NotJoinedError: there is none.
            ParticipationOverError: this device is done, according to its state.
            IssuanceRefusedError: it is, because no attempt can bring it a token.
            ForeignStateError, DamagedStateError: the content is no state, or is damaged.
            StateFileBusyError: another process has the file open.
        """
        source = secrets.SystemRandom() if random_source is None else random_source

        def resume(content: bytes | None, store: StateStore, opened: ExitStack) -> "Device":
            if content is None:
                raise _not_joined(location)
            live = decode(content)
            if isinstance(live, DoneState):
                verb = "has left" if live.left else "is done with"
                done = f"this device {verb} recipe {live.identifier}"
                if live.refused:
                    raise IssuanceRefusedError(f"{done}, without a token: {live.refused}")
                raise ParticipationOverError(done)
            return cls(store, live, source, opened.pop_all())

        if isinstance(location, Path) and not location.exists():  # Then there is nothing to lock either.
            raise _not_joined(location)
        return _with_store(location, resume)

    @property
    def phase(self) -> Phase:
        """The device's phase."""
        return self._state.phase

    @property
    def steps_taken(self) -> int:
        """The public step counter, 0..T."""
        return self._state.step

    @property
    def server(self) -> str:
        """The server's address, from `join`."""
        return self._enrolment.server

    @property
    def events(self) -> tuple[str, ...]:
        """Names of the events, in the recipe's order; empty if it is about one without a name."""
        name = self.recipe.event.name
        return self.recipe.parameters.event_names or (() if name is None else (name,))

    def bit_of(self, name: str | None = None) -> int:
        """Of an event, its bit in `step`.

        Args:
            name: may be left out if the recipe has one event.

        Raises:
            FieldError: the recipe does not list it.
        """
        names = self.events
        if name is None and len(names) <= 1:
            return 1
        if name not in names:
            allowed = f"one of {', '.join(names)}" if names else "left out: the recipe names none"
            raise FieldError("event", f"must be {allowed}; not {'left out' if name is None else name}")
        return 1 << names.index(name)

    def require_ahead(self, number: int) -> None:
        """WrongStepError unless step `number` (1..T) is still to be taken."""
        steps, taken = self.recipe.parameters.step_count, self._state.step
        if not 1 <= number <= steps:
            raise WrongStepError(f"there is no step {number}: the steps are 1 to {steps}")
        if number <= taken:
            following = f"the next is {taken + 1}" if taken < steps else f"all {steps} are"
            raise WrongStepError(f"step {number} is taken already; {following}")

    def step(self, event: int, *, number: int | None = None) -> None:
        """Take the next time step.

        Args:
            event: whether the event occurred in this step, once or more often. If the recipe has several, the
                bits (`bit_of`) of those that occurred, joined by `|`; they are taken in the recipe's order.
            number: the step (1..T) that the caller believes it to be; not checked if None.

        Raises:
            FieldError: `event` has bits of other events than the recipe's.
            WrongStepError: step `number` is not the next one, or all steps are taken.
        """
        self._require_usable()
        if len(self.events) <= 1:
            event = bool(event)
        elif not 0 <= event < 1 << len(self.events):
            raise FieldError("event", f"must have bits of {len(self.events)} events, not be {event}")
        if number is not None:
            self.require_ahead(number)
            following = self._state.step + 1
            if number != following:
                raise WrongStepError(f"step {number} is out of turn: the next is {following}")
        self._become(self._algorithm.step(self._state, event, self._random_source))

    def catch_up(self, step: int) -> None:
        """Take all steps up to and including `step`, without events: the device was off.

        Raises:
            WrongStepError: `step` precedes the last step taken, or is beyond T.
        """
        self._require_usable()
        if not self._state.step <= step <= self.recipe.parameters.step_count:
            raise WrongStepError(
                f"cannot catch up to step {step}: it must be at least {self._state.step} (taken already) "
                f"and at most {self.recipe.parameters.step_count}"
            )
        state = self._state
        while state.step < step:
            state = self._algorithm.step(state, False, self._random_source)
        if state is not self._state:
            self._become(state)

    def finish(self, *, segment: str | None = None, now: datetime | None = None) -> None:
        """Make the report, after step T, and store it in place of the counters. Once made, it stays:
        two reports with different coins would reveal more than one. A device that is not sampled is done.

        Args:
            now: the time, by default the clock's; its day is kept if the device is done.
            segment: the device's current segment, if the recipe asks by segment; None for one that it does
                not name. It is in the report alone, encrypted and randomized with the rest.

        Raises:
            WrongStepError: before step T, or if devices take no steps.
        """
        self._require_usable()
        if self._state.phase is Phase.REPORTED:
            return
        nonce = None if self._token is None else self._token.report_nonce
        algorithm = ClientAlgorithm(self.recipe, segment=segment) if segment else self._algorithm
        self._become(algorithm.finish(self._state, self._random_source, nonce), now)

    @property
    def asks_at(self) -> datetime | None:
        """The time from which the device asks for its token; None if it has one, or needs none."""
        return None if self._token is None or self._token.token else self._token.asks_at

    def obtain_token(
        self, transport: Transport, signing_key: Ed25519PrivateKey, *, now: datetime | None = None
    ) -> None:
        """Ask for the token of this recipe, sampled or not, and store it; repeat until it returns. Does
        nothing if it has one, or if the recipe asks for none. If no further attempt can succeed, the
        device is done: the file records that with the reason, and this object refuses to go on.

        Args:
            transport: for requests to other servers: the device asks the attester directly.
            signing_key: by which the attester knows this device.
            now: the time, by default the clock's.

        Raises:
            TokenNotDueError: it is too early for the token.
            RecipeClosedError: the recipe has closed and issues no tokens; no further attempt can succeed.
            NotAttestedError, TokenLostError, WrongAnswerError, TransportError: as in `TokenClient.obtained`.
        """
        self._require_usable()
        if self._token is None or self._token.token:
            return
        moment = _now(now)
        if moment < self._token.asks_at:
            raise TokenNotDueError(
                f"this device asks for its token from {format_time(self._token.asks_at)} on, not before"
            )
        with TokenClient(self.recipe, transport) as client:
            try:
                client.obtained(
                    self._token,
                    signing_key,
                    self._keep_token,
                    random_source=self._random_source,
                    created=int(moment.timestamp()),
                )
            except RecipeNotOpenError as error:
                # The issuer issues tokens from the recipe's publication on: it is not too early.
                message = "the recipe is closed: it issues no tokens"
                self._end(DoneState.of(self.recipe, refused=message))
                raise error.as_type(RecipeClosedError, message) from error
            except TokenLostError as error:
                self._end(DoneState.of(self.recipe, refused=str(error)))
                raise

    def send(
        self,
        transport: Transport,
        *,
        now: datetime | None = None,
        segment: str | None = None,
        value: str | None = None,
        before: Callable[[ServedRecipe, Transport], object] | None = None,
    ) -> Delivery | None:
        """Send the report, which is made first if need be; repeat until it returns.

        Args:
            transport: to the server that published the recipe.
            now: the time, by default the clock's. Its day is kept (`DoneState.sent`). If the server takes
                no reports, it shows whether the recipe is closed or not yet open.
            segment: as in `finish`; ignored if the report is already made.
            value: of the device, if the recipe asks for one; also ignored if the report is made. It is in the
                report alone, randomized and encrypted.
            before: checks the recipe and its site over the report's own transport; if it raises, the report
                is not sent.

        Returns:
            how it was delivered; None for a device that was not sampled. The file is then the same for both
            (`DoneState`).

        Raises:
            RecipeClosedError: the recipe is closed; no further attempt can succeed.
            ReportRejectedError: the server rejected the report, and will reject it again.
            TransportError: not delivered; the same report is kept for another attempt.
            NoTokenError: the recipe asks for a token, and this device, sampled or not, has none yet.
            WrongStepError: before step T.
            FieldError: the recipe asks for a value, and this is none.
        """
        self._require_usable()
        if self.asks_at is not None:
            # Ahead of reading the coin: otherwise a late request would reveal which devices take part.
            raise NoTokenError(
                "this recipe takes reports with a token only, and the device has none yet: get it first "
                f"(`token`), from {format_time(self.asks_at)} on"
            )
        if self.recipe.parameters.step_count:
            self.finish(segment=segment, now=now)
        elif self._state.phase is Phase.NOT_SAMPLED:
            self._become(DeviceState(phase=Phase.DONE), now)
        elif self._state.phase is Phase.COLLECTING:
            if value is None:
                raise FieldError("value", "is missing: the recipe asks for one")
            value_reports(self.recipe).value_of(value)
        if self._state.phase is Phase.DONE:
            return None
        path, token = report_path(self.recipe, self._enrolment.verification_key), self._token
        with path.transport(transport, self.server) as servers:
            if before is not None:
                before(self._enrolment.served, servers)
            try:
                with path.upload(servers) as upload:
                    if value is not None and self._state.phase is Phase.COLLECTING:
                        self._give(value, upload, now)
                    if self.phase is Phase.DONE:
                        return None
                    report = wire_report(self._state)
                    delivery = upload.submit_kept(report if token is None else token.shown(report))
            except RecipeNotOpenError as error:
                raise early_or_late(error, self.recipe, servers, now) from error
        self._become(DeviceState(phase=Phase.DONE, step=self._state.step), now)
        return delivery

    def leave(self) -> None:
        """Leave the recipe before its report: the state is replaced by a note that the device has left, with
        which it does not join again. ParticipationOverError if it is done.

        A report whose delivery got no answer may have arrived."""
        self._require_usable()
        if self._state.phase is Phase.DONE:
            raise ParticipationOverError(f"this device is done with recipe {self.recipe.identifier}")
        self._end(DoneState.of(self.recipe, left=True))

    def _give(self, value: str, upload: Upload, now: datetime | None) -> None:
        """Make the report of a device with a value, and store it. Once made, it stays, like the report of
        steps."""
        keep = upload.keeping()
        token, source = self._token, self._random_source
        if token is None:
            raise NoTokenError("the state of a device with a value has its token")
        reports = value_reports(self.recipe)
        report = reports.of_value(reports.value_of(value), source, token.report_nonce)
        if report is None:
            self._become(DeviceState(phase=Phase.DONE), now)
        else:
            self._become(reported_state(self.recipe, keep(replace(report, token=token.token))))

    def close(self) -> None:
        """Let go of the file."""
        self._usable = False
        self._opened.close()

    def _require_usable(self) -> None:
        if not self._usable:
            raise DeviceError("this device is closed; open its state again")

    def _become(self, state: DeviceState, now: datetime | None = None) -> None:
        # Until the store is known to hold the new state, this object may not act on either.
        self._usable = False
        if state.phase is Phase.DONE:
            sent = _now(now).astimezone(UTC).date().isoformat()
            content = DoneState.of(self.recipe, sent=sent).encode()
        else:
            content = encode(self._enrolment, state, self._token)
        self._store.write(content)
        self._state = state
        self._usable = True

    def _end(self, done: DoneState) -> None:
        self._usable = False
        self._store.write(done.encode())
        self._state = DeviceState(phase=Phase.DONE, step=self._state.step)

    def _keep_token(self, token: TokenState) -> None:
        self._usable = False
        self._store.write(encode(self._enrolment, self._state, token))
        self._token = token
        self._usable = True


def _now(time: datetime | None) -> datetime:
    return datetime.now(UTC) if time is None else time


def early_or_late(
    error: RecipeNotOpenError, recipe: PublishedRecipe, transport: Transport, now: datetime | None = None
) -> RecipeNotOpenError | RecipeClosedError:
    """The same error, with whether the recipe is closed or not yet open.

    Args:
        transport: to the server that published the recipe.
        now: the time, by default the clock's.

    Raises:
        TransportError: that server gives no answer.
    """
    # The server's answer is the same for both; a clock alone may be wrong, or the closing early.
    moment = _now(now)
    over = moment >= recipe.closes_at and not recipe.simulation
    if over or transport.recipe(recipe.identifier).status == "closed":
        return error.closed()
    return error.until(format_time(recipe.opens_at))


def require_takes_part(
    recipe: PublishedRecipe, served: ServedRecipe, *, simulation: bool, limits: RecipeLimits
) -> None:
    """RecipeRefusedError if a device must keep out of a verified recipe; FieldError if the recipe exceeds the
    device's limits.

    Args:
        simulation: whether the device is a simulated one, which has no limits.
    """
    if recipe.simulation and not simulation:
        raise RecipeRefusedError("this recipe is for simulated devices")
    if simulation and not recipe.simulation:
        raise RecipeRefusedError("this recipe is for real devices, not for simulated ones")
    if served.status == "closed":
        raise RecipeRefusedError("this recipe is closed")
    if not recipe.simulation:
        limits.require(recipe.document, whose="this device")
        limits.require_local(recipe.calibrated_statistic, whose="this device")


def is_in_target(recipe: PublishedRecipe, attributes: Mapping[str, str] | None) -> bool:
    """Whether a recipe asks a device with these attributes; FieldError if it must know them."""
    if recipe.target is None:
        return True
    if attributes is None:
        raise NONE_GIVEN
    return recipe.target.target.fits(attributes)


def _not_joined(location: Path | StateStore) -> NotJoinedError:
    return NotJoinedError(f"{location_name(location)} does not exist: this device has not joined")


def _with_store(
    location: Path | StateStore, use: Callable[[bytes | None, StateStore, ExitStack], Device]
) -> Device:
    with ExitStack() as opened:
        store = opened.enter_context(open_store(location))
        return use(store.read(), store, opened)
