"""Public-key encryption built from a locally pan-private counter (LPP Theorem 6.1).

A demonstration of why local pan-privacy needs public-key cryptography, not a way to protect anything:
a bit becomes the states of n devices.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from research.theory.counters import Counter, DeviceState, Output, ServerState


class RerandomizationsUsedUpError(ValueError):
    """A ciphertext whose devices have done all T steps."""


@dataclass(frozen=True)
class CounterCiphertext(Generic[DeviceState]):
    """One encrypted bit: (t, {s_t^(i)}).

    Attributes:
        step: t, how many steps the devices have done, 1..T.
        states: of all n devices.
    """

    step: int
    states: tuple[DeviceState, ...]


class CounterEncryption(Generic[DeviceState, ServerState, Output]):
    """KeyGen, Enc, Dec and Φ of the proof of Theorem 6.1, for single bits."""

    def __init__(self, counter: Counter[DeviceState, ServerState, Output], devices: int) -> None:
        """
        Args:
            counter: any; the encryption is as secure as the counter is pan-private, and decrypts as
                surely as its error stays below n/2.
            devices: n ≥ 1.
        """
        if devices < 1:
            raise ValueError(f"devices must be at least 1, not {devices}")
        self._counter = counter
        self._devices = devices

    def generate_keys(
        self, random_source: random.Random
    ) -> tuple[tuple[DeviceState, ...], tuple[ServerState, ...]]:
        """KeyGen: Initialize n times. The devices' states are the public key, the server's the private."""
        pairs = [self._counter.initialize(random_source) for _ in range(self._devices)]
        return tuple(state for state, _ in pairs), tuple(server for _, server in pairs)

    def encrypt(
        self, bit: int, public_key: Sequence[DeviceState], random_source: random.Random
    ) -> CounterCiphertext[DeviceState]:
        """Enc: the first step of all devices, with the bit as the input of each."""
        if bit not in (0, 1):
            raise ValueError(f"bit must be 0 or 1, not {bit!r}")
        return self._stepped(public_key, bool(bit), 1, random_source)

    def rerandomize(
        self, ciphertext: CounterCiphertext[DeviceState], random_source: random.Random
    ) -> CounterCiphertext[DeviceState]:
        """Φ: one more step without an event; up to T − 1 times.

        Raises:
            RerandomizationsUsedUpError: at t = T.
        """
        if ciphertext.step >= self._counter.steps:
            raise RerandomizationsUsedUpError(f"all {self._counter.steps} steps are done")
        return self._stepped(ciphertext.states, False, ciphertext.step + 1, random_source)

    def decrypt(
        self,
        ciphertext: CounterCiphertext[DeviceState],
        private_key: Sequence[ServerState],
        random_source: random.Random,
    ) -> int:
        """Dec: the remaining steps without an event, then whether the estimate is at least n/2 devices.

        It draws randomness, like the counter's report, and may be wrong with the probability with which the
        estimate is off by n/2.
        """
        while ciphertext.step < self._counter.steps:
            ciphertext = self.rerandomize(ciphertext, random_source)
        outputs = [self._counter.output(state, random_source) for state in ciphertext.states]
        return int(self._counter.estimate(private_key, outputs) >= self._devices / 2)

    def _stepped(
        self, states: Sequence[DeviceState], event: bool, step: int, random_source: random.Random
    ) -> CounterCiphertext[DeviceState]:
        return CounterCiphertext(
            step, tuple(self._counter.step(state, event, step, random_source) for state in states)
        )
