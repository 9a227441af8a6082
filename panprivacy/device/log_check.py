"""A device's check of the public log ahead of taking part: is the recipe in it, and does it only grow?"""

import http
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from panprivacy.device.algorithm import DeviceError
from panprivacy.device.log_memory import LogMemory
from panprivacy.device.transport import API, ServedRecipe, Transport, TransportError
from panprivacy.formats import base64_text
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.findings import CheckError, NotWitnessedError
from panprivacy.protocols.transparency.merkle import ProofError, consistency_proof, verify_consistency
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.tiles import Tile, TileError, nodes_of
from panprivacy.recipe.log.checks import CheckReport, check
from panprivacy.recipe.log.policy_file import EARLY

LOG = "/log"
"""Below a site's address: its log."""


class LogRefusedError(DeviceError):
    """The public log does not have the recipe, or contradicts its previous state."""


class NotInLogError(TransportError):
    """The log does not have the recipe so far: try again."""


class TooFewWitnessesError(NotInLogError):
    """Fewer witnesses than the device asks for have signed the log so far: try again."""


@dataclass(frozen=True)
class LogCheck:
    """A device's checks of a site's log.

    Attributes:
        policy: which log it believes, and which witnesses must have signed.
        memory: what it already saw; None for simulated devices, which have no past.
    """

    policy: Policy
    memory: LogMemory | None = None

    def require(
        self, served: ServedRecipe, transport: Transport, *, now: datetime | None = None
    ) -> CheckReport:
        """Check that a recipe is in the log, and that the log continues its known state.

        Args:
            transport: to the site that published the recipe.
            now: the time, by default the clock's. A witness's signature of more than `EARLY` later does not
                count.

        Returns:
            What holds. The checkpoint is then remembered.

        Raises:
            LogRefusedError: the recipe is not there, or the log contradicts itself. Both checkpoints are then
                in the memory's file, and from then on this log is refused.
            TooFewWitnessesError: too few witnesses have signed yet.
            NotInLogError: there is no proof yet.
            TransportError: no answer, or the site proves nothing.
        """
        return self.require_file(
            _as_served(served), f"recipes/{served.identifier}/", transport, what="recipe", now=now
        )

    def require_file(
        self, content: bytes, target: str, transport: Transport, *, what: str, now: datetime | None = None
    ) -> CheckReport:
        """The same for any signed document that the site serves with its proof.

        Args:
            content: the input of `panprivacy.recipe.log.checks.check`.
            target: below the API: the document's; its proof has the same prefix.
            what: the document's type, for people.
            The others, and errors: as in `require`.
        """
        proof = _proof(target, transport, what)
        try:
            latest = int(((datetime.now(UTC) if now is None else now) + EARLY).timestamp())
            checked = check(content, proof, self.policy, latest=latest)
        except NotWitnessedError as error:
            raise TooFewWitnessesError(f"this {what}'s entry in the public log: {error}") from error
        except CheckError as error:
            raise LogRefusedError(f"the public log does not vouch for this {what}: {error}") from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise LogRefusedError(f"this {what} or its proof in the public log cannot be read") from error
        if self.memory is not None:
            _require_continues(checked, self.memory, transport)
        return checked


def _proof(target: str, transport: Transport, what: str) -> bytes:
    try:
        return transport.get(f"{API}/{target}proof/").body
    except TransportError as error:
        if error.status != http.HTTPStatus.NOT_FOUND:
            raise
        raise error.as_type(
            NotInLogError, f"the site has no proof that this {what} is in its public log: {error}"
        ) from error


def _require_continues(checked: CheckReport, memory: LogMemory, transport: Transport) -> None:
    shown, origin = checked.checkpoint, checked.checkpoint.origin
    known = memory.newest(origin)
    if known is None:
        memory.remember(origin, checked.note)
        return
    if memory.is_contradicted(origin):
        raise LogRefusedError(
            f"the log {origin} contradicted itself before: both checkpoints are in {memory.location}"
        )
    # A proof may belong to an older checkpoint than the known one, which must then begin with it.
    older, newer = (known, shown) if known.size <= shown.size else (shown, known)
    try:
        _require_begins(older, newer, transport)
    except TransportError as error:
        if newer is shown or error.status != http.HTTPStatus.NOT_FOUND:
            raise
        _refuse(checked, memory, f"it had {known.size} entries before, and has only {shown.size} now")
    except TileError as error:
        raise LogRefusedError(f"the log {origin} is not served as it must be: {error}") from error
    except ProofError as error:
        begins = "the known tree" if older is known else "the tree"
        _refuse(
            checked,
            memory,
            f"the tree of {newer.size} entries does not begin with {begins} of {older.size}: {error}",
        )
    if newer is shown and shown.size > known.size:
        memory.remember(origin, checked.note)


def _require_begins(older: Checkpoint, newer: Checkpoint, transport: Transport) -> None:
    """Check, with hashes that the site serves, that one tree begins with another."""

    def read(tile: Tile) -> bytes:
        return transport.get(f"{LOG}/{tile.path}").body

    proof = consistency_proof(nodes_of(read, newer.size), older.size, newer.size)
    verify_consistency(old=older.size, new=newer.size, old_root=older.root, new_root=newer.root, proof=proof)


def _refuse(checked: CheckReport, memory: LogMemory, why: str) -> NoReturn:
    origin = checked.checkpoint.origin
    memory.record_contradiction(origin, checked.note)
    raise LogRefusedError(
        f"the log {origin} contradicts what it showed this device before: {why}; "
        f"both checkpoints are in {memory.location}"
    )


def _as_served(served: ServedRecipe) -> bytes:
    return json.dumps(
        {
            "id": served.identifier,
            "document": served.document,
            "signature": base64_text.encode(served.signature),
        }
    ).encode()
