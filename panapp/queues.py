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
        plans: last, as anyone may ask for plans, and no collection must wait for that.
    """

    advance: str
    default: str
    shuffler: str
    helper: str
    plans: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Those of the installation with this PANAPP_QUEUE."""
        return cls(f"{name}-advance", name, f"{name}-shuffler", f"{name}-helper", f"{name}-plans")

    def queues(self) -> list[Queue]:
        """As they are declared; an exchange each, so that who deletes a queue leaves nothing of it."""
        return [Queue(name, Exchange(name, "direct"), routing_key=name) for name in self]
