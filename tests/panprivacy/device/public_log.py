"""A site's public log in memory: any entries, any number of branches, one key."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rfc8785

from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.merkle import consistency_proof, inclusion_proof, root
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import ED25519, Note, VerifierKey
from panprivacy.protocols.transparency.tiles import Tile, parse_index_path, tile_content
from tests.panprivacy.device.in_process import Application
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory

ORIGIN = "site.example/log"
LOG = VerifierKey(ORIGIN, ED25519, VERIFICATION_KEY)
WITHOUT_WITNESSES = f"log {LOG.text}\nquorum none\n"


def entry_of(identifier: str, action: str = "recipe_published") -> bytes:
    """That a recipe was published."""
    return rfc8785.dumps({"action": action, "commitment": "0" * 64, "details": {}, "subject": identifier})


def other_entries(count: int, branch: str = "") -> list[bytes]:
    """Entries that say nothing to anybody."""
    return [
        rfc8785.dumps({"commitment": hashlib.sha256(f"{branch}{n}".encode()).hexdigest()})
        for n in range(count)
    ]


class MemoryLog:
    """A WSGI application: the log's tiles, and proofs of one recipe, before those of a site.

    Attributes:
        entries: all of them; replace them to show another tree.
        size: of the checkpoint that proofs are as of.
        cosignatures: by checkpoint, lines of witnesses.
        asked: paths below /log.
    """

    def __init__(self, entries: Sequence[bytes], index: int, site: Application | None = None) -> None:
        self.index = index
        self.site = site
        self.cosignatures: dict[Checkpoint, str] = {}
        self.asked: list[str] = []
        self.show(entries)

    def show(self, entries: Sequence[bytes], size: int | None = None) -> None:
        """Another tree, or another state of it, from now on."""
        self.entries = list(entries)
        self.nodes = nodes_in_memory(self.entries)
        self.size = len(self.entries) if size is None else size

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(ORIGIN, self.size, root(self.nodes, self.size))

    def note(self) -> bytes:
        text = self.checkpoint.text
        lines = self.cosignatures.get(self.checkpoint, "")
        return Note(text, (signed_note.sign(text, ORIGIN, SIGNING_KEY),)).encode() + lines.encode()

    def consistency(self, old: int) -> list[bytes]:
        return consistency_proof(self.nodes, old, self.size)

    def proof(self) -> bytes:
        path = inclusion_proof(self.nodes, self.index, self.size)
        return Proof(self.index, tuple(path), self.note(), self.entries[self.index]).encode()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/log/tile/"):
            self.asked.append(path)
            return _answered(start_response, self._tile(path.removeprefix("/log/tile/")))
        if path.endswith("/proof/"):
            return _answered(start_response, self.proof())
        assert self.site is not None
        return self.site(environ, start_response)

    def _tile(self, path: str) -> bytes | None:
        level, _, place = path.partition("/")
        number, _, width = place.partition(".p/")
        tile = Tile(int(level), parse_index_path(number), int(width or 256))
        if (tile.index * 256 + tile.width) << 8 * tile.level > len(self.entries):
            return None
        return tile_content(self.nodes, tile)


def _answered(start_response: Callable[..., Any], body: bytes | None) -> list[bytes]:
    kind = "application/octet-stream" if body is not None else "application/problem+json"
    start_response("200 OK" if body is not None else "404 Not Found", [("Content-Type", kind)])
    return [json.dumps({"title": "There is no such tile."}).encode() if body is None else body]
