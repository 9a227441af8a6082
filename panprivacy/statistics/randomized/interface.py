"""A randomizer is one class with three parts: the device's, the server's, the accountant's.

A device has one value. It makes one report of it, at once, and keeps nothing. The server that adds up the
reports need not read them: the measurement is a vector of whole numbers, which functions of VDAF add up.
"""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from panprivacy.formats.parameters import EPSILON, CohortParameters, described
from panprivacy.formats.tls_messages import Message
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.robustness import Robustness

P = TypeVar("P", bound=CohortParameters)
V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class RandomizerParameters(CohortParameters):
    """The parameters of every cohort; a randomizer whose ε is not that of one report describes it again."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "A smaller ε protects a device more and makes the result less precise. It is that of one "
            "place of the report; replacing a value changes two, so the guarantee has 2ε.",
        }
    )


class Randomizer(CohortStatistic[P], Generic[P, V]):
    """One randomizer with its parameters, for values of the type V.

    A coin with the sampling rate decides whether a device takes part, ahead of `randomize` and whatever its
    value. Servers that only add shares up check what a report's VDAF proves; a server that reads reports
    checks the same in `contribution`.
    """

    device_input = DeviceInput.RANDOMIZED
    provable = True

    needs_proof = True
    """True by default; a randomizer whose reports a single server may decrypt sets False."""

    columns: tuple[str, ...] = ("value",)
    """Names of the cells that make up one value, as in the header of a file of values, in addition to
    `device`."""

    # For the device ------------------------------------------------------------

    @abstractmethod
    def value_of(self, cells: Sequence[str]) -> V:
        """The value of a device, from one text for each of `columns`.

        Raises:
            FieldError: naming the column, or `value`: this is no value.
        """

    @abstractmethod
    def randomize(self, value: V, random_source: random.Random) -> tuple[int, ...] | None:
        """The measurement that a device with this value reports: `report_ciphertexts` whole numbers, each of
        `allowed_values`.

        None if this device sends nothing: only if the randomizer itself decides about taking part.
        """

    # For the server ------------------------------------------------------------

    @property
    @abstractmethod
    def vdaf_type(self) -> int:
        """Code point of the VDAF with which two servers verify measurements and add them up."""

    @property
    @abstractmethod
    def vdaf_message(self) -> Message:
        """Its parameters, in the encoding of `panprivacy.protocols.dap.vdafs`."""

    @property
    @abstractmethod
    def robustness(self) -> Robustness:
        """The most that dishonest devices can move."""

    @abstractmethod
    def truth(self, devices_by_value: Mapping[V, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: value → how many devices have it, those included that were not
        sampled."""

    def truth_of(self, devices_by_cells: Mapping[tuple[str, ...], int]) -> tuple[float, ...]:
        """The same from values as texts, which `value_of` takes."""
        devices_by_value: Counter[V] = Counter()
        for cells, devices in devices_by_cells.items():
            devices_by_value[self.value_of(cells)] += devices
        return self.truth(devices_by_value)
