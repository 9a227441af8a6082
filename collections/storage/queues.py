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

    Attributes:
        advance: of the periodic tasks. Always first: a backlog of chunks must not hold up the closing and
            release of other recipes.
        default: of all that no other is for.
        shuffler, helper: of what asks one of them. Each has workers of its own in production and in
            simulations/installation/services.py: one that answers late must hold up neither other recipes nor
            requests to the other one.
        notifications: for requests to receivers of webhooks and the mail server, likewise.
        plans: of answers that may take minutes. Anyone may ask for plans.
        previews: of answers that someone waits for. It has a worker of its own.
        simulations: of short tasks of simulated devices.
    """

    advance: str
    default: str
    shuffler: str
    helper: str
    notifications: str
    plans: str
    previews: str
    simulations: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Those of the installation with this PANAPP_QUEUE."""
        kinds = ("shuffler", "helper", "notifications", "plans", "previews", "simulations")
        return cls(f"{name}{ADVANCE}", name, *(f"{name}-{kind}" for kind in kinds))

    def queues(self) -> list[Queue]:
        """Their declarations; an exchange each, so that deleting a queue leaves nothing of it."""
        return [Queue(name, Exchange(name, "direct"), routing_key=name) for name in self]
