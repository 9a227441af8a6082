"""A real device: one recipe, one state file, one report.

The file is replaced as a whole after every step. A device that loses power has therefore taken its step, or
has not. Someone who reads the file before and after every step sees only ciphertexts, all of which change
each time.
"""

import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from devices_sim.algorithm import (
    ClientAlgorithm,
    DeviceError,
    DeviceState,
    ParticipationOverError,
    Phase,
    WrongStepError,
    wire_report,
)
from devices_sim.state_file import DoneState, Enrolment, LiveState, decode, encode
from devices_sim.storage import AtomicFile
from devices_sim.transport import (
    Closable,
    Delivery,
    RecipeClosedError,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
)
from devices_sim.trust_models import reporting_model
from panprivacy.limits import USUAL, RecipeLimits
from panprivacy.recipe import PublishedRecipe, format_time


class AlreadyJoinedError(DeviceError):
    """There is a state file already; joining again would toss the sampling coin again."""


class NotJoinedError(DeviceError):
    """There is no state file."""


class RecipeRefusedError(DeviceError):
    """A verified recipe that this device does not take part in: closed, or for simulated devices."""


class Device(Closable):
    """One device's part in one recipe. Use it as a context manager: it holds a lock on its file.

    Made by `join` (once) or `open` (every later time). Not safe to share between threads. After an
    error from the file system the object refuses to go on; open the file again, which has the state
    before or after the operation.
    """

    def __init__(self, file: AtomicFile, live: LiveState, random_source: random.Random) -> None:
        self._file = file
        self._enrolment = live.enrolment
        self._state = live.state
        self._random_source = random_source
        self._usable = True
        self.recipe = live.recipe
        self._algorithm = ClientAlgorithm(live.recipe)

    @classmethod
    def join(
        cls,
        path: Path,
        served: ServedRecipe,
        *,
        verification_key: bytes,
        helper_key: bytes | None = None,
        server: str = "",
        simulation: bool = False,
        limits: RecipeLimits = USUAL,
        announce: Callable[[PublishedRecipe], None] | None = None,
        random_source: random.Random | None = None,
    ) -> "Device":
        """Verify a recipe, toss the sampling coin, and write the first state.

        Args:
            path: the state file to be; its directory must exist.
            served: the recipe as fetched.
            verification_key: the server's Ed25519 key (32 bytes), pinned beforehand.
            helper_key: the helper's, pinned too; a two-server recipe is refused without it.
            server: the server's address, kept in the file for `send`'s caller.
            simulation: whether this device is a simulated one.
            limits: of this device, for recipes that are no simulations.
            announce: told of the verified recipe before any coin is tossed or anything stored; what it raises
                leaves nothing behind.
            random_source: `secrets.SystemRandom()` by default; seeded ones in simulations only.

        Raises:
            RecipeVerificationError: identifier or a signature does not hold, or the helper's key is missing
                or another.
            FieldError: the recipe is the server's, but its noise does not keep the guarantee it names, or it
                goes beyond this device's limits.
            RecipeRefusedError: a recipe for simulations on a real device or the reverse, a closed one, or
                one in which devices take no steps.
            AlreadyJoinedError: `path` exists.
            StateFileBusyError: another process has it open.
            StateFileError: its directory does not exist or cannot be written.
        """
        enrolment = Enrolment(served, verification_key, server, helper_key)
        recipe = enrolment.verified()
        require_takes_part(recipe, served, simulation=simulation, limits=limits)
        if not recipe.parameters.step_count:
            raise RecipeRefusedError("devices take no steps in this recipe (of values, see send-value)")
        if announce is not None:
            announce(recipe)
        source = secrets.SystemRandom() if random_source is None else random_source

        def start(content: bytes | None, file: AtomicFile) -> "Device":
            if content is not None:
                raise AlreadyJoinedError(f"{path} exists: this device has joined already")
            state = ClientAlgorithm(recipe).start(source)
            file.replace(encode(enrolment, state))
            return cls(file, LiveState(enrolment, recipe, state), source)

        return _with_file(path, start)

    @classmethod
    def open(cls, path: Path, *, random_source: random.Random | None = None) -> "Device":
        """Go on from the state file.

        Raises:
            NotJoinedError: there is none.
            ParticipationOverError: the file says that this device is done.
            ForeignStateError, DamagedStateError: the file is not a state file, or is damaged.
            StateFileBusyError: another process has it open.
        """
        source = secrets.SystemRandom() if random_source is None else random_source

        def resume(content: bytes | None, file: AtomicFile) -> "Device":
            if content is None:
                raise _not_joined(path)
            live = decode(content)
            if isinstance(live, DoneState):
                raise ParticipationOverError(f"this device is done with recipe {live.identifier}")
            return cls(file, live, source)

        if not path.exists():  # Then there is nothing to lock either.
            raise _not_joined(path)
        return _with_file(path, resume)

    @property
    def phase(self) -> Phase:
        """Where the device stands."""
        return self._state.phase

    @property
    def steps_taken(self) -> int:
        """The public step counter, 0..T."""
        return self._state.step

    @property
    def server(self) -> str:
        """The server's address, as given to `join`."""
        return self._enrolment.server

    def require_ahead(self, number: int) -> None:
        """WrongStepError unless step `number` (1..T) is still to be taken."""
        steps, taken = self.recipe.parameters.step_count, self._state.step
        if not 1 <= number <= steps:
            raise WrongStepError(f"there is no step {number}: the steps are 1 to {steps}")
        if number <= taken:
            following = f"the next is {taken + 1}" if taken < steps else f"all {steps} are"
            raise WrongStepError(f"step {number} is taken already; {following}")

    def step(self, event: bool, *, number: int | None = None) -> None:
        """Take the next time step.

        Args:
            event: whether the event occurred in this step, once or more often.
            number: the step (1..T) that the caller believes it to be; not checked where None.

        Raises:
            WrongStepError: it is not step `number`'s turn, or all steps have been taken.
        """
        self._require_usable()
        if number is not None:
            self.require_ahead(number)
            following = self._state.step + 1
            if number != following:
                raise WrongStepError(f"step {number} is out of turn: the next is {following}")
        self._become(self._algorithm.step(self._state, event, self._random_source))

    def catch_up(self, step: int) -> None:
        """Take all steps up to and including `step`, without events: the device was off.

        Raises:
            WrongStepError: `step` lies before the steps taken, or beyond T.
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

    def finish(self, *, segment: str | None = None) -> None:
        """Make the report, after step T, and store it in place of the counters. Once made, it stays:
        two reports with different coins would tell more than one.

        Args:
            segment: the device's own now, where the recipe asks by segment; None for one that it does not
                name. It is in the report, encrypted and randomized with the rest, and is stored nowhere else.

        Raises:
            WrongStepError: before step T.
        """
        self._require_usable()
        if self._state.phase is not Phase.REPORTED:
            algorithm = ClientAlgorithm(self.recipe, segment=segment) if segment else self._algorithm
            self._become(algorithm.finish(self._state, self._random_source))

    def send(
        self, transport: Transport, *, now: datetime | None = None, segment: str | None = None
    ) -> Delivery | None:
        """Send the report, which is made first if need be; repeat until it returns.

        Args:
            transport: to the server that published the recipe.
            now: the time, by default the clock's. It is looked at only where the server takes no
                reports, to say whether it no longer does or does not yet.
            segment: as of `finish`; not looked at where the report is made already.

        Returns:
            how it was delivered; None for a device that was not sampled. The file then says only
            that the device is done.

        Raises:
            RecipeClosedError: the recipe is closed; no further attempt can succeed.
            ReportRejectedError: the server rejected the report, as it will again.
            TransportError: not delivered; the same report stays for another attempt.
            WrongStepError: before step T.
        """
        self.finish(segment=segment)
        if self._state.phase is Phase.DONE:
            return None
        try:
            with reporting_model(self.recipe).upload(self.recipe, transport) as upload:
                delivery = upload.submit(wire_report(self._state))
        except RecipeNotOpenError as error:
            raise early_or_late(error, self.recipe, transport, now) from error
        self._become(DeviceState(phase=Phase.DONE, step=self._state.step))
        return delivery

    def close(self) -> None:
        """Let go of the file."""
        self._usable = False
        self._file.close()

    def _require_usable(self) -> None:
        if not self._usable:
            raise DeviceError("this device is closed; open its state file again")

    def _become(self, state: DeviceState) -> None:
        # Until the file is known to hold the new state, this object may not act on either.
        self._usable = False
        self._file.replace(encode(self._enrolment, state))
        self._state = state
        self._usable = True


def early_or_late(
    error: RecipeNotOpenError, recipe: PublishedRecipe, transport: Transport, now: datetime | None = None
) -> RecipeNotOpenError | RecipeClosedError:
    """The same error, saying whether the recipe takes no reports any more or does not take any yet.

    Args:
        transport: to the server that published the recipe.
        now: the time, by default the clock's.

    Raises:
        TransportError: that server cannot say.
    """
    # The server's answer is the same for both; a clock alone may be wrong, or the closing early.
    moment = datetime.now(UTC) if now is None else now
    over = moment >= recipe.closes_at and not recipe.simulation
    if over or transport.recipe(recipe.identifier).status == "closed":
        return error.closed()
    return error.until(format_time(recipe.opens_at))


def require_takes_part(
    recipe: PublishedRecipe, served: ServedRecipe, *, simulation: bool, limits: RecipeLimits
) -> None:
    """RecipeRefusedError where a device must keep out of a verified recipe; FieldError where the recipe goes
    beyond the device's limits.

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


def _not_joined(path: Path) -> NotJoinedError:
    return NotJoinedError(f"{path} does not exist: this device has not joined")


def _with_file(path: Path, use: Callable[[bytes | None, AtomicFile], Device]) -> Device:
    file = AtomicFile(path)
    try:
        return use(file.read(), file)
    except BaseException:
        file.close()
        raise
