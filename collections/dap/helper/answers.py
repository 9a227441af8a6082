"""Finding an answer again: a request's identity is its bytes (DAP 18, section 3.2)."""

import hashlib

from dap.helper.models import Answer
from dap.http import RESOURCE_ID_BYTES
from dap.models import Task


def resource_id_of(task: Task, body: bytes) -> bytes:
    """The identifier of what a request creates: the same request, the same identifier."""
    return hashlib.sha256(bytes(task.task_id) + body).digest()[:RESOURCE_ID_BYTES]


def answer_stored(kind: type[Answer], *, task: Task, resource_id: bytes) -> bytes | None:
    """The answer that was given before; None if none was."""
    found = (
        kind._default_manager.filter(task=task, resource_id=resource_id)
        .values_list("answer", flat=True)
        .first()
    )
    return None if found is None else bytes(found)
