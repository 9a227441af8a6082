"""The queues of an installation on its broker."""

from typing import NamedTuple, Self

from kombu import Exchange, Queue
from kombu.utils.scheduling import round_robin_cycle

ADVANCE = "-advance"
"""With which the name of the first queue ends."""


class FairTurns(round_robin_cycle):  # type: ignore[type-arg]  # the class at run time has none
    """The order in which a worker polls its queues: that of periodic tasks first, then the others, those with
    the most recent task last. So no backlog keeps another queue waiting for more than one task of each.
    """

    def rotate(self, last_used: str) -> None:
        """A task came from this queue."""
        if not last_used.endswith(ADVANCE):
            super().rotate(last_used)


class QueueNames(NamedTuple):
    """In the order in which a worker polls them at the start; then they take turns (`FairTurns`).

    A task that runs is not interrupted, so turns alone do not keep slow tasks of one queue from holding every
    child of a worker. What may be slow therefore has workers of its own in production, and in
    simulations/installation/services.py if its caller says so.

    Attributes:
        advance: of the periodic tasks, which are short. Always first: a backlog of chunks must not hold up
            the closing and release of other recipes.
        collections: of the steps of single recipes.
        default: of chunks of reports, and of all that no other is for.
        shuffler, helper: of what asks one of them, which may answer late.
        partners: of what may ask any other server: publishing rounds, and notices to issuers.
        notifications: for requests to receivers of webhooks and the mail server.
        numbers: of answers that may take minutes, for those who publish.
        plans: the same for plans, which anyone may ask for.
        previews: of answers that people wait for. It has a worker of its own.
        simulations: of short tasks of simulated devices.
    """

    advance: str
    collections: str
    default: str
    shuffler: str
    helper: str
    partners: str
    notifications: str
    numbers: str
    plans: str
    previews: str
    simulations: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Those of the installation with this PANAPP_QUEUE."""
        others = (kind for kind in cls._fields if kind not in {"advance", "collections", "default"})
        return cls(f"{name}{ADVANCE}", f"{name}-collections", name, *(f"{name}-{kind}" for kind in others))

    def queues(self) -> list[Queue]:
        """Their declarations; an exchange each, so that deleting a queue leaves nothing of it."""
        return [Queue(name, Exchange(name, "direct"), routing_key=name) for name in self]
