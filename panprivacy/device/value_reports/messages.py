"""The messages of a device about its value, each encrypted separately, for a shuffler that mixes them."""

import random

from panprivacy.device.transport import WireReport
from panprivacy.device.value_reports.interface import ValueReports
from panprivacy.encryption.interface import REPORT_NONCE_BYTES, PublicKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.interface import ShuffleStatistic


class MessageReports(ValueReports[int]):
    """Reports of several messages, mixed with those of other devices until they are read."""

    sampling_rate = None

    def __init__(self, recipe: PublishedRecipe, public_key: PublicKey | None = None) -> None:
        self.statistic = statistic_as(recipe, ShuffleStatistic)
        self._public_key = recipe.public_key if public_key is None else public_key

    def value_of(self, text: str) -> int:
        return self.statistic.value_of(text)

    def of_value(self, value: int, random_source: random.Random, nonce: bytes | None = None) -> WireReport:
        messages = self.statistic.randomize(value, random_source)
        return WireReport(
            random_source.randbytes(REPORT_NONCE_BYTES) if nonce is None else nonce,
            tuple(bytes(self._public_key.encrypt(message, random_source)) for message in messages),
        )
