"""Finding an answer again, by a request's bytes (DAP 18, section 3.2) or by the leader's identifier."""

import hashlib
from dataclasses import dataclass

from dap.errors import IdentifierTakenError
from dap.helper.models import Answer
from dap.http import RESOURCE_ID_BYTES
from dap.models import Task


@dataclass(frozen=True)
class Identity:
    """Which resource a request creates.

    Attributes:
        resource_id: 16 bytes.
        digest: of the request, if the leader chose `resource_id`; else empty.
    """

    resource_id: bytes
    digest: bytes

    def require_same(self, stored: Answer) -> None:
        """Raises IdentifierTakenError if another request has created the resource."""
        if bytes(stored.digest) != self.digest:
            raise IdentifierTakenError


def identity_of(task: Task, body: bytes, chosen: bytes | None) -> Identity:
    """The same request has the same identity.

    Args:
        body: in draft 18.
        chosen: the identifier that the leader chose, 16 bytes; None if its dialect lets it choose none.
    """
    digest = hashlib.sha256(bytes(task.task_id) + body).digest()
    return Identity(digest[:RESOURCE_ID_BYTES], b"") if chosen is None else Identity(chosen, digest)


def answer_stored(kind: type[Answer], *, task: Task, identity: Identity) -> bytes | None:
    """The answer that was given to the request before; None if none was.

    Raises:
        IdentifierTakenError: it was given to another request.
    """
    found = kind._default_manager.filter(task=task, resource_id=identity.resource_id).first()
    if found is None:
        return None
    identity.require_same(found)
    return bytes(found.answer)


def answer_named(kind: type[Answer], *, task: Task, resource_id: bytes) -> bytes | None:
    """The answer with this identifier; None if there is none."""
    found = (
        kind._default_manager.filter(task=task, resource_id=resource_id)
        .values_list("answer", flat=True)
        .first()
    )
    return None if found is None else bytes(found)
