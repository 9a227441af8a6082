"""What a device with events computes, in memory: states and the steps between them (LPP, Algorithms 3 to 6).

`client` adds a file that survives crashes; simulations use this module directly. `value_reports` is for
devices that have one value.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from panprivacy.device.transport import WireReport
from panprivacy.encryption.interface import (
    REPORT_NONCE_BYTES,
    Ciphertext,
    NonceBoundKey,
    PublicKey,
    key_of_report,
)
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import narrowed
from panprivacy.statistics.events.interface import Mechanism, Report


class DeviceError(Exception):
    """Something that this device must not or cannot do."""


class WrongStepError(DeviceError):
    """A step out of its turn, or a report ahead of the last step."""


class ParticipationOverError(DeviceError):
    """The device has sent its report, or was not sampled, and takes no further part."""


class Phase(StrEnum):
    """A device's phase. It depends on public facts and the sampling coin, never on events."""

    COLLECTING = "collecting"
    NOT_SAMPLED = "not_sampled"
    REPORTED = "reported"
    """The report is made and waits for its delivery."""

    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class DeviceState:
    """All that a device keeps in addition to the public recipe.

    Attributes:
        phase: see `Phase`.
        step: number of steps taken, 0..T; public.
        ciphertexts: the mechanism's state while collecting, the report once it is made.
        nonce: the report's 16 bytes once it is made, otherwise empty. If ciphertexts belong to one report
            (`NonceBoundKey`), it is set from the start, at random (or from its token), and public.
    """

    phase: Phase
    step: int = 0
    ciphertexts: tuple[Ciphertext, ...] = ()
    nonce: bytes = b""


class SealedReport(Ciphertext):
    """A report that is sealed to the servers' own keys, which change; nothing is computed with it."""

    __slots__ = ("_encoded",)

    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded

    def __bytes__(self) -> bytes:
        return self._encoded


class ClientAlgorithm:
    """The transitions of one recipe. Holds nothing about a device; serves any number of them.

    Args:
        recipe: a verified recipe.
        public_key: the recipe's own, constant-time one by default. Simulations may pass it with
            tables, which are faster but take time that depends on the randomness.
        segment: the device's own label, if the recipe asks by segment; None for a device in none that it
            names. It is part of the report alone: all steps are the same in every segment.
    """

    def __init__(
        self, recipe: PublishedRecipe, public_key: PublicKey | None = None, segment: str | None = None
    ) -> None:
        statistic = recipe.calibrated_statistic
        if statistic.segmentation is not None:
            statistic = statistic.segmentation.on_device(segment)
        self.mechanism = narrowed(statistic, Mechanism)
        self.public_key = recipe.public_key if public_key is None else public_key
        self.steps: int = self.mechanism.parameters.steps
        self.reporting_rate: float = self.mechanism.reporting_rate

    def is_sampled(self, random_source: random.Random) -> bool:
        """Toss the coin that decides whether the device will report: once, ahead of its first step, whatever
        its data. If devices that do not take part may send a dummy, the report itself draws which it is."""
        return random_source.random() < self.reporting_rate

    def start(self, random_source: random.Random, nonce: bytes | None = None) -> DeviceState:
        """The initial state, sampling coin included.

        Args:
            nonce: of the future report, 16 bytes, if a token fixes it; otherwise it is drawn.
        """
        if not self.is_sampled(random_source):
            return DeviceState(phase=Phase.NOT_SAMPLED)
        nonce = self._first_nonce(random_source, nonce)
        ciphertexts = self.mechanism.start(key_of_report(self.public_key, nonce), random_source)
        return DeviceState(phase=Phase.COLLECTING, ciphertexts=ciphertexts, nonce=nonce)

    def step(self, state: DeviceState, event: int, random_source: random.Random) -> DeviceState:
        """The state after one more step; WrongStepError after step T.

        Args:
            event: as in `EventDevice.step`.
        """
        _check_in_collection(state)
        if state.step >= self.steps:
            raise WrongStepError(f"all {self.steps} steps have been taken")
        step = state.step + 1
        if state.phase is Phase.NOT_SAMPLED:
            return replace(state, step=step)
        public_key = key_of_report(self.public_key, state.nonce)
        ciphertexts = self.mechanism.step(public_key, state.ciphertexts, event, step, random_source)
        return replace(state, step=step, ciphertexts=ciphertexts)

    def finish(
        self, state: DeviceState, random_source: random.Random, nonce: bytes | None = None
    ) -> DeviceState:
        """The state in which the report replaces the counters; WrongStepError before step T.

        Args:
            nonce: as in `start`.
        """
        _check_in_collection(state)
        if state.step < self.steps:
            raise WrongStepError(f"only {state.step} of {self.steps} steps have been taken")
        if state.phase is Phase.NOT_SAMPLED:
            return DeviceState(phase=Phase.DONE, step=state.step)
        public_key = key_of_report(self.public_key, state.nonce)
        report = self.mechanism.report(public_key, state.ciphertexts, random_source)
        return self._reported(report, state.nonce or nonce, random_source)

    def report_of_count(
        self, count: int, random_source: random.Random, nonce: bytes | None = None
    ) -> DeviceState | None:
        """A state distributed as that after `finish` of a device with this count (`Mechanism.outcome`); None
        for one that is not sampled.

        Lazy: the steps are not taken. For simulations, in which no attacker sees them.

        Args:
            nonce: as in `start`.
        """
        if not self.is_sampled(random_source):
            return None
        bound = self._first_nonce(random_source, nonce)
        report = self.mechanism.report_of_count(key_of_report(self.public_key, bound), count, random_source)
        return self._reported(report, bound or nonce, random_source)

    def _first_nonce(self, random_source: random.Random, nonce: bytes | None) -> bytes:
        """The bytes to which the ciphertexts are bound, empty if they are not."""
        if not isinstance(self.public_key, NonceBoundKey):
            return b""
        return random_source.randbytes(REPORT_NONCE_BYTES) if nonce is None else nonce

    def _reported(self, report: Report, nonce: bytes | None, random_source: random.Random) -> DeviceState:
        return DeviceState(
            phase=Phase.REPORTED,
            step=self.steps,
            ciphertexts=report,
            nonce=nonce or random_source.randbytes(REPORT_NONCE_BYTES),
        )


def wire_report(state: DeviceState) -> WireReport:
    """The report of a state in phase `reported`, without a token."""
    return WireReport(state.nonce, tuple(bytes(ciphertext) for ciphertext in state.ciphertexts))


def reported_state(recipe: PublishedRecipe, report: WireReport) -> DeviceState:
    """The state that keeps the report of a device with one value until it is delivered.

    Args:
        report: the form from `Upload.keeping`.
    """
    return DeviceState(
        phase=Phase.REPORTED, ciphertexts=kept_ciphertexts(recipe, report.ciphertexts), nonce=report.nonce
    )


def kept_ciphertexts(recipe: PublishedRecipe, encoded: Iterable[bytes]) -> tuple[Ciphertext, ...]:
    """The contents of a state, from its bytes: ciphertexts under the recipe's key, or a sealed report if it
    has none.

    Raises:
        InvalidCiphertextError: not ciphertexts under that key, or changed (`PublicKey.require_kept`).
    """
    key = recipe.device_key
    if key is None:
        return tuple(map(SealedReport, encoded))
    ciphertexts = tuple(map(key.parse, encoded))
    key.require_kept(ciphertexts)
    return ciphertexts


def _check_in_collection(state: DeviceState) -> None:
    if state.phase is Phase.DONE:
        raise ParticipationOverError("this device takes no further part")
    if state.phase is Phase.REPORTED:
        raise WrongStepError("the report has been made already; it only waits to be sent")
