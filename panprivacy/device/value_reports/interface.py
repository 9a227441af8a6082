"""The interface of the reports of devices that have one value each. Nothing is kept of a value."""

import random
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from panprivacy.device.transport import WireReport
from panprivacy.encryption.interface import PublicKey
from panprivacy.recipe.document import PublishedRecipe

Value = TypeVar("Value")
"""A device's value, as its statistic reads it."""


class ValueReports(ABC, Generic[Value]):
    """The reports of one recipe's devices. Holds nothing about a device; serves any number of them.

    Args:
        recipe: a verified recipe.
        public_key: the recipe's own, constant-time one by default. Simulations may pass it with tables, which
            are faster but take time that depends on the randomness.

    Attributes:
        sampling_rate: probability with which a device takes part; None if all do, without a coin.
    """

    sampling_rate: float | None

    @abstractmethod
    def __init__(self, recipe: PublishedRecipe, public_key: PublicKey | None = None) -> None:
        """See the class."""

    @abstractmethod
    def value_of(self, text: str) -> Value:
        """A device's value from one text, in the form of workloads; FieldError if it is none."""

    def is_sampled(self, random_source: random.Random) -> bool:
        """Toss the coin that decides whether a device takes part: once, whatever its value."""
        return self.sampling_rate is None or random_source.random() < self.sampling_rate

    @abstractmethod
    def of_value(
        self, value: Value, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        """The report of a device that is sampled; None if not sending is a part of the randomizer.

        Args:
            value: from `value_of`.
            random_source: `secrets.SystemRandom()`; seeded ones in simulations only.
            nonce: of the report, 16 bytes, if a token fixes it; otherwise it is drawn.
        """
