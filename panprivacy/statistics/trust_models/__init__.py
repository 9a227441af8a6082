"""The trust models of recipes, one file each; this is the table.

This package has what documents, devices and guarantees need. The servers' part of a trust model is not here.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.formats.registry import Registry
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import ReportFormat, Servers

__all__ = [
    "TRUST_MODELS",
    "Servers",
    "report_format",
    "statistic_under_trust",
    "trust_named",
    "trust_of",
    "trusts_of",
    "under_trust",
]

S = TypeVar("S", bound=Statistic[Any])

TRUST_MODELS: Registry[type[Servers]] = Registry(
    __name__,
    {
        Trust.SINGLE_SERVER: "single_server:OneServer",
        Trust.TWO_SERVER: "two_server:TwoServers",
        Trust.SHUFFLER: "shuffler:ShufflerAndAnalyzer",
        Trust.JOINT_KEY: "joint_key:JointKeyServers",
        Trust.CURATOR: "curator:Curator",
    },
)
"""Name → class, in the order in which they are offered. Lookups use this table, not the enum."""


def trust_named(name: str) -> Trust:
    """The trust model of that name; KeyError if none is registered under it."""
    return TRUST_MODELS[name].trust


def trusts_of(statistic: type[Statistic[Any]]) -> tuple[Trust, ...]:
    """The trust models under which the statistic can be asked; the first is the default."""
    return tuple(servers.trust for servers in TRUST_MODELS.values() if servers.admits(statistic))


def trust_of(value: object, statistic: type[Statistic[Any]]) -> Trust:
    """The trust model of that name; FieldError unless `statistic` can be asked under it."""
    if not isinstance(value, str) or value not in trusts_of(statistic):
        allowed = " or ".join(trust.value for trust in trusts_of(statistic))
        raise FieldError("trust", f"must be {allowed} for {statistic.statistic}, not {as_typed(value)}")
    return trust_named(value)


def report_format(servers: type[Servers]) -> ReportFormat:
    """The format of reports under a trust model; ValueError if no devices report under it."""
    if servers.report_format is None:
        raise ValueError(f"no devices report under {servers.trust}")
    return servers.report_format


def statistic_under_trust(statistic: S, trust: Trust) -> S:
    """The statistic under this trust model: with noise in the number of reports if its servers add any."""
    if not TRUST_MODELS[trust].noisy_count:
        return statistic
    # Imported here, because a document can be read without it.
    from panprivacy.statistics.events.cohort import CohortStatistic

    return statistic.with_noisy_count() if isinstance(statistic, CohortStatistic) else statistic


def under_trust(guarantees: Iterable[Guarantee], trust: Trust) -> tuple[Guarantee, ...]:
    """The guarantees of a statistic as a recipe of this trust model states them. No number changes: only the
    adversary and the assumptions."""
    amendments = TRUST_MODELS[trust].amendments
    return tuple(
        replace(
            amendments[guarantee.model](guarantee) if guarantee.model in amendments else guarantee,
            trust=trust,
        )
        for guarantee in guarantees
    )
