"""What is shown of the servers of a recipe: to the public, and to those who watch over the collection."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from panprivacy.coarse import coarse, coarse_rejections
from recipes.models import Recipe
from releases.models import Release
from trust_models.outcomes import Progress, ServerProgress


@dataclass(frozen=True)
class ServerShown:
    """One server, with what somebody may know of it.

    Attributes:
        name, url: as of `ServerProgress`.
        counted: reports in its sum; None where that is not told.
        rejected: reason → reports that it rejected.
    """

    name: str
    url: str
    counted: int | None
    rejected: Mapping[str, int]

    def coarse(self, cohort_size: int) -> "ServerShown":
        """The same as it is told below the cohort size: no count, and rejections in coarse steps."""
        return ServerShown(self.name, self.url, None, coarse_rejections(dict(self.rejected), cohort_size))

    def live(self, recipe: Recipe) -> "ServerShown":
        """The same as it is told of an open recipe: in coarse steps; counts of simulated devices only.

        How many reports a server found valid would else tell whoever sent them about the plaintext.
        """
        told = recipe.simulation and self.counted is not None
        counted = coarse(self.counted, recipe.cohort_size) if told else None
        return replace(self.coarse(recipe.cohort_size), counted=counted)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class TroubleShown:
    """A server that does not do its part, with what somebody may know of it.

    Attributes:
        name: the server's.
        since: when it last answered.
        waiting: requests that wait for it; None where that is not told.
        next_attempt: when it is asked again; None where that is not told, as it depends on when the first
            attempt was.
        error: what happened at the last attempt; empty where that is not told.
    """

    name: str
    since: datetime
    waiting: int | None = None
    next_attempt: datetime | None = None
    error: str = ""


def troubles_of(recipe: Recipe, progress: Progress, *, everything: bool) -> list[TroubleShown]:
    """The servers that do not do their part.

    Requests of an open recipe are about the reports whose leader's half opened: that one waits would tell
    whoever sent a single report that it did, and so what is in the copy of a state it was made from. Of a
    closed recipe some request waits for a silent server whatever has opened, and when it was closed is
    public. So that is all that the public is told.

    Args:
        everything: for those who watch over the collection.
    """
    troubles = [(server.name, server.trouble) for server in progress.servers if server.trouble]
    if everything:
        return [TroubleShown(name, t.since, t.waiting, t.next_attempt, t.error) for name, t in troubles]
    if recipe.closed_at is None:
        return []
    closed_at = recipe.closed_at
    # By the minute: a few seconds pass until what is closed without any waiting report asks the helper.
    return [
        TroubleShown(name, max(t.since, closed_at).replace(second=0, microsecond=0)) for name, t in troubles
    ]


def servers_of(recipe: Recipe, progress: Progress, *, everything: bool = False) -> list[ServerShown]:
    """The servers with what is public of them, exactly.

    Args:
        everything: for those who watch over the collection, once it has ended. Of simulated devices
            everything is public.
    """
    return [_shown(server, everything or recipe.simulation) for server in progress.servers]


def counts_differ(servers: Sequence[ServerShown]) -> bool:
    """Whether servers say of themselves that they added up different numbers of reports."""
    return len({server.counted for server in servers if server.counted is not None}) > 1


def stated_servers(release: Release) -> list[ServerShown]:
    """The servers as a release tells of them."""
    if release.servers is None:  # from before there were two
        return [ServerShown("Server", "", release.reports, release.rejected)]
    return [ServerShown(**members) for members in release.servers]


def _shown(server: ServerProgress, everything: bool) -> ServerShown:
    rejected = {**server.public_rejections, **(server.hidden_rejections if everything else {})}
    return ServerShown(server.name, server.url, server.counted, dict(sorted(rejected.items())))
