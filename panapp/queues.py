"""The queues of an installation on its broker."""

from typing import NamedTuple, Self

from kombu import Exchange, Queue


class QueueNames(NamedTuple):
    """In the order in which workers look into them.

    Attributes:
        advance: of the periodic tasks. First: a backlog of chunks must not hold up the closing and release of
            other recipes.
        default: of all that no other is for.
        shuffler, helper: of what asks one of them. Each has workers of its own in production and in
            panapp/services.py: one that answers late must hold up neither other recipes nor requests to the
            other one. A worker that serves all queues comes to these after what asks nobody.
        notifications: of what asks receivers of webhooks and the mail server, likewise.
        plans: as anyone may ask for plans, no collection must wait for that.
        simulations: last, and of short tasks: simulated devices take what real recipes leave.
    """

    advance: str
    default: str
    shuffler: str
    helper: str
    notifications: str
    plans: str
    simulations: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Those of the installation with this PANAPP_QUEUE."""
        kinds = ("shuffler", "helper", "notifications", "plans", "simulations")
        return cls(f"{name}-advance", name, *(f"{name}-{kind}" for kind in kinds))

    def queues(self) -> list[Queue]:
        """As they are declared; an exchange each, so that who deletes a queue leaves nothing of it."""
        return [Queue(name, Exchange(name, "direct"), routing_key=name) for name in self]
