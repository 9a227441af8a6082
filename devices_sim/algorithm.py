"""The client algorithm in memory: states and the steps between them (LPP, Algorithms 3 to 5).

`client` adds a file that survives crashes; simulations use this module directly.
"""

import random
from dataclasses import dataclass, replace
from enum import StrEnum

from devices_sim.transport import WireReport
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.recipe import Recipe

NONCE_BYTES = 16


class DeviceError(Exception):
    """Something that this device must not or cannot do."""


class WrongStepError(DeviceError):
    """A step out of its turn, or a report before the last step."""


class ParticipationOverError(DeviceError):
    """The device has sent its report, or was not sampled, and takes no further part."""


class Phase(StrEnum):
    """Where a device stands. It depends on public facts and the sampling coin, never on events."""

    COLLECTING = "collecting"
    NOT_SAMPLED = "not_sampled"
    REPORTED = "reported"
    """The report is made and waits for its delivery."""

    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class DeviceState:
    """All that a device keeps beside the public recipe.

    Attributes:
        phase: see `Phase`.
        step: number of steps taken, 0..T; public.
        ciphertexts: the mechanism's state while collecting, the report once it is made.
        nonce: the report's 16 bytes once it is made, else empty.
    """

    phase: Phase
    step: int = 0
    ciphertexts: tuple[Ciphertext, ...] = ()
    nonce: bytes = b""


class ClientAlgorithm:
    """The transitions of one recipe. Holds nothing about a device; serves any number of them.

    Args:
        recipe: a verified recipe.
        public_key: the recipe's own, constant-time one by default. Simulations may pass it with
            tables, which are faster but take time that depends on the randomness.
    """

    def __init__(self, recipe: Recipe, public_key: PublicKey | None = None) -> None:
        self.mechanism = recipe.mechanism
        self.public_key = recipe.public_key if public_key is None else public_key
        self.steps = recipe.parameters.steps
        self.sampling_rate = recipe.parameters.sampling_rate

    def is_sampled(self, random_source: random.Random) -> bool:
        """Toss the sampling coin: once per device, before its first step, whatever its data."""
        return random_source.random() < self.sampling_rate

    def start(self, random_source: random.Random) -> DeviceState:
        """The state before step 1, sampling coin included."""
        if not self.is_sampled(random_source):
            return DeviceState(phase=Phase.NOT_SAMPLED)
        ciphertexts = self.mechanism.start(self.public_key, random_source)
        return DeviceState(phase=Phase.COLLECTING, ciphertexts=ciphertexts)

    def step(self, state: DeviceState, event: bool, random_source: random.Random) -> DeviceState:
        """The state after one more step; WrongStepError after step T."""
        _check_in_collection(state)
        if state.step >= self.steps:
            raise WrongStepError(f"all {self.steps} steps have been taken")
        step = state.step + 1
        if state.phase is Phase.NOT_SAMPLED:
            return replace(state, step=step)
        ciphertexts = self.mechanism.step(self.public_key, state.ciphertexts, event, step, random_source)
        return replace(state, step=step, ciphertexts=ciphertexts)

    def finish(self, state: DeviceState, random_source: random.Random) -> DeviceState:
        """The state that holds the report in place of the counters; WrongStepError before step T."""
        _check_in_collection(state)
        if state.step < self.steps:
            raise WrongStepError(f"only {state.step} of {self.steps} steps have been taken")
        if state.phase is Phase.NOT_SAMPLED:
            return DeviceState(phase=Phase.DONE, step=state.step)
        return DeviceState(
            phase=Phase.REPORTED,
            step=state.step,
            ciphertexts=self.mechanism.report(self.public_key, state.ciphertexts, random_source),
            nonce=random_source.randbytes(NONCE_BYTES),
        )


def wire_report(state: DeviceState) -> WireReport:
    """The report of a state in phase `reported`."""
    return WireReport(state.nonce, tuple(bytes(ciphertext) for ciphertext in state.ciphertexts))


def _check_in_collection(state: DeviceState) -> None:
    if state.phase is Phase.DONE:
        raise ParticipationOverError("this device takes no further part")
    if state.phase is Phase.REPORTED:
        raise WrongStepError("the report has been made already; it only waits to be sent")
