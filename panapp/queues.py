"""The queues of an installation on its broker."""

from typing import NamedTuple, Self

from kombu import Exchange, Queue


class QueueNames(NamedTuple):
    """In the order in which workers look into them.

    Attributes:
        advance: of the periodic tasks. First: a backlog of chunks must not hold up the closing and release of
            other recipes.
        default: of all that no other is for.
        helper: of what asks a helper or a shuffler. After what asks nobody: one that does not answer must not
            hold up other recipes.
        plans: last, as anyone may ask for plans, and no collection must wait for that.
    """

    advance: str
    default: str
    helper: str
    plans: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Those of the installation with this PANAPP_QUEUE."""
        return cls(f"{name}-advance", name, f"{name}-helper", f"{name}-plans")

    def queues(self) -> list[Queue]:
        """As they are declared; an exchange each, so that who deletes a queue leaves nothing of it."""
        return [Queue(name, Exchange(name, "direct"), routing_key=name) for name in self]
