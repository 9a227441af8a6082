"""What is shown of servers that do not do their part."""

from dataclasses import dataclass
from datetime import datetime

from recipes.models import Recipe
from results.outcomes import Progress
from results.rates import issuer_trouble


@dataclass(frozen=True)
class TroubleShown:
    """A server that does not do its part, with what the reader may know of it.

    Attributes:
        name: the server's.
        since: when it last answered.
        waiting: requests that wait for it; None if that is not shown.
        next_attempt: when it is asked again; None if that is not shown, because it depends on when the first
            attempt was.
        error: what happened at the last attempt; empty if that is not shown.
    """

    name: str
    since: datetime
    waiting: int | None = None
    next_attempt: datetime | None = None
    error: str = ""


def troubles_of(recipe: Recipe, progress: Progress, *, everything: bool) -> list[TroubleShown]:
    """The servers that do not do their part.

    Requests of an open recipe are about the reports whose leader's half opened: one waiting request would
    reveal to an attacker who sent a single report that it was valid, and so what is in the copy of a state it
    was made from. Of a closed recipe some request waits for a silent server whatever has opened, and when it
    was closed is public. So the public sees only that.

    Args:
        everything: for those who watch over the collection.
    """
    troubles = [(server.name, server.trouble) for server in progress.servers if server.trouble]
    troubles += [("Issuer", trouble) for trouble in (issuer_trouble(recipe),) if trouble]
    if everything:
        return [TroubleShown(name, t.since, t.waiting, t.next_attempt, t.error) for name, t in troubles]
    if recipe.closed_at is None:
        return []
    closed_at = recipe.closed_at
    # By the minute: a few seconds pass until what is closed without any waiting report asks the helper.
    return [
        TroubleShown(name, max(t.since, closed_at).replace(second=0, microsecond=0)) for name, t in troubles
    ]
