"""Sums over reports: decrypt, replace what is invalid, add up. Pure, so that any engine may run it."""

from collections.abc import Iterable
from dataclasses import dataclass

from panprivacy.encryption.interface import PrivateKey, ValueOutOfRangeError
from panprivacy.formats.seeded_source import SeededSource
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.report_shards.segments import KEY_BYTES, record_length
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import InvalidReportError, ReportStatistic


class RunningSum:
    """The sum over the reports that were added so far.

    An invalid report is replaced by a random valid one, and counts: nothing may reveal whether a report was
    valid. The seed and the report's place determine the replacement.

    Args:
        seed: secret, and of this sum alone.

    Attributes:
        total: vector sum of the reports' contributions.
        reports: how many there are.
    """

    def __init__(self, published: PublishedRecipe, key: PrivateKey, seed: bytes) -> None:
        self._statistic = statistic_as(published, ReportStatistic)
        self._public_key = published.public_key
        self._key, self._seed = key, seed
        self._allowed = self._statistic.allowed_values
        self.report_bytes = self._statistic.report_ciphertexts * self._public_key.ciphertext_bytes
        self.total = [0] * self._statistic.contribution_length
        self.reports = 0

    def add(self, report: bytes) -> None:
        """Add one report: its ciphertexts, one after the other."""
        size, parse, decrypt = self._public_key.ciphertext_bytes, self._public_key.parse, self._key.decrypt
        try:
            values = [
                decrypt(parse(report[at : at + size]), self._allowed)
                for at in range(0, self.report_bytes, size)
            ]
            self._statistic.add(self.total, values)
        except (ValueOutOfRangeError, InvalidReportError):
            source = SeededSource(self._seed + self.reports.to_bytes(8))
            self._statistic.add(self.total, self._statistic.random_values(source))
        self.reports += 1


@dataclass(frozen=True)
class ShardSum:
    """What came of one shard.

    Attributes:
        total: vector sum of the contributions of the reports that count.
        reports: how many count.
        duplicates: records whose key already came.
    """

    total: tuple[int, ...]
    reports: int
    duplicates: int


def shard_sum(published: PublishedRecipe, key: PrivateKey, slices: Iterable[bytes], seed: bytes) -> ShardSum:
    """The sum over one shard: of records with the same key, the first counts.

    Holds one slice and the keys of the shard in memory: some 100 bytes for each report.

    Args:
        slices: records, one after the other, in the form of `shard_slices`.
        seed: secret, and of this shard alone; every attempt with the same one gives the same sum.
    """
    counted = RunningSum(published, key, seed)
    size = record_bytes_of(published)
    seen: set[bytes] = set()
    duplicates = 0
    for records in slices:
        for at in range(0, len(records), size):
            record_key = records[at : at + KEY_BYTES]
            if record_key in seen:
                duplicates += 1
                continue
            seen.add(record_key)
            counted.add(records[at + KEY_BYTES : at + size])
    return ShardSum(tuple(counted.total), counted.reports, duplicates)


def record_bytes_of(published: PublishedRecipe) -> int:
    """Length of a record of a recipe, in bytes."""
    return record_length(
        statistic_as(published, ReportStatistic).report_ciphertexts, published.public_key.ciphertext_bytes
    )
