"""Locally pan-private counters of devices with an event, the input of the constructions of LPP section 6.

A counter is the four functions of LPP section 2: Initialize, State_t, Out and Est. This module has the
encrypted one of this product; tests have another, which only randomizes its state.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PrivateKey, PublicKey
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.interface import Report
from panprivacy.statistics.events.interface import State as Ciphertexts
from panprivacy.statistics.events.randomized_response import RandomizedResponse

DeviceState = TypeVar("DeviceState")
ServerState = TypeVar("ServerState")
Output = TypeVar("Output")


class Counter(ABC, Generic[DeviceState, ServerState, Output]):
    """A streaming algorithm for COUNTNONZERO: on how many devices was a bit of the stream 1?"""

    @property
    @abstractmethod
    def steps(self) -> int:
        """T ≥ 1."""

    @abstractmethod
    def initialize(self, random_source: random.Random) -> tuple[DeviceState, ServerState]:
        """s₀ of one device, and what the server keeps to itself for it."""

    @abstractmethod
    def step(self, state: DeviceState, event: bool, step: int, random_source: random.Random) -> DeviceState:
        """State_t: s_t from s_{t−1} and the bit of time step t = `step`, 1..T."""

    @abstractmethod
    def output(self, state: DeviceState, random_source: random.Random) -> Output:
        """Out: the one message of a device, from s_T."""

    @abstractmethod
    def estimate(self, servers: Sequence[ServerState], outputs: Sequence[Output]) -> float:
        """Est: how many devices had an event, from the messages of all of them (at least one)."""


class EncryptedCounter(Counter[tuple[PublicKey, Ciphertexts], PrivateKey, Report]):
    """`count_nonzero` (LPP Algorithm 3): computationally 0-locally pan-private if the encryption is secure.

    Every device gets a key pair of its own, because Initialize is run once for each.
    """

    def __init__(self, steps: int, epsilon: float, scheme: str = DEFAULT_SCHEME) -> None:
        """
        Args:
            steps, epsilon: T, and ε of the randomized response in the report; FieldError out of range.
            scheme: registered name of the encryption.
        """
        # A cohort of one: nothing is released here.
        parameters = Parameters(steps=steps, epsilon=epsilon, delta=1e-6, cohort_size=2)
        self._mechanism = CountNonzero(parameters)
        self._response = RandomizedResponse(epsilon)
        self._scheme = scheme

    @property
    def steps(self) -> int:
        return self._mechanism.parameters.steps

    def initialize(self, random_source: random.Random) -> tuple[tuple[PublicKey, Ciphertexts], PrivateKey]:
        private_key = generate_private_key(self._scheme, random_source)
        public_key = private_key.public_key
        return (public_key, self._mechanism.start(public_key, random_source)), private_key

    def step(
        self, state: tuple[PublicKey, Ciphertexts], event: bool, step: int, random_source: random.Random
    ) -> tuple[PublicKey, Ciphertexts]:
        public_key, ciphertexts = state
        return public_key, self._mechanism.step(public_key, ciphertexts, event, step, random_source)

    def output(self, state: tuple[PublicKey, Ciphertexts], random_source: random.Random) -> Report:
        public_key, ciphertexts = state
        return self._mechanism.report(public_key, ciphertexts, random_source)

    def estimate(self, servers: Sequence[PrivateKey], outputs: Sequence[Report]) -> float:
        total = sum(
            private_key.decrypt(value, self._mechanism.allowed_values)
            for private_key, (value,) in zip(servers, outputs, strict=True)
        )
        return self._response.debiased(total, len(outputs))
