"""The helper of a task."""

from django.conf import settings

from dap.leader.models import Registration
from dap.models import Task
from dap.operations import configuration_of, dialect_of, task_peer_token
from panprivacy.protocols.dap.tokens import Token
from partners.client import PeerClient, TokenClient
from partners.partner import Partner
from storage.columns import stored
from web.transport import Transport, https_transport


def partner_of(task: Task, transport: Transport = https_transport) -> Partner:
    """The helper with which the task was registered, whatever the present settings name."""
    return Partner(
        url=task.peer_url,
        verification_key=bytes(task.peer_key),
        leader_url=configuration_of(task).leader_aggregator_endpoint,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )


def registered_partner(registration: Registration, transport: Transport = https_transport) -> Partner:
    """The helper that was asked to take part in a task."""
    return Partner(
        url=registration.helper_url,
        verification_key=bytes(registration.helper_key),
        leader_url=registration.leader_url,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )


def peer_of(task: Task, transport: Transport = https_transport) -> PeerClient:
    """A client that speaks to it. Raises TaskEndedError if the token of a task is deleted with it."""
    if dialect_of(task).is_signed:
        return partner_of(task, transport).client()
    token = Token.from_bytes(stored(task_peer_token(task)))
    return TokenClient(url=task.peer_url, token=token.headers(), transport=transport)
