"""What each trust model says of a recipe, one file each; this is the table.

It knows what documents, devices and guarantees need to know. What a server does under a trust model is not
known here.
"""

from collections.abc import Iterable
from typing import Any

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.statistic import Statistic
from panprivacy.trust import Trust
from panprivacy.trust_models.curator import Curator
from panprivacy.trust_models.interface import Servers
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer
from panprivacy.trust_models.single_server import OneServer
from panprivacy.trust_models.two_server import TwoServers

__all__ = ["TRUST_MODELS", "Servers", "trust_named", "trusts_of", "under_trust"]

TRUST_MODELS: dict[str, type[Servers]] = {
    servers.trust: servers for servers in (OneServer, TwoServers, ShufflerAndAnalyzer, Curator)
}
"""Name → class, in the order in which they are offered. Names are looked up here, not in the enum."""


def trust_named(name: str) -> Trust:
    """The trust model of that name; KeyError where none is registered under it."""
    return TRUST_MODELS[name].trust


def trusts_of(statistic: type[Statistic[Any]]) -> tuple[Trust, ...]:
    """The trust models under which the statistic can be asked; the first is the default."""
    return tuple(servers.trust for servers in TRUST_MODELS.values() if servers.admits(statistic))


def under_trust(guarantees: Iterable[Guarantee], trust: Trust) -> tuple[Guarantee, ...]:
    """The guarantees of a statistic as a recipe of this trust model states them."""
    return tuple(TRUST_MODELS[trust].stated(guarantee) for guarantee in guarantees)
