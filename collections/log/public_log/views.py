"""The public tree: checkpoint, tiles and leaves, as files would be served (C2SP, tlog-tiles)."""

from contextlib import suppress

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from log.public_log.selectors import (
    bundle_bytes,
    checkpoint_note,
    latest_checkpoint,
    site_policy,
    tile_bytes,
)
from log.public_log.tree_growth import integrate
from log.public_log.witness import UnknownLogError, checkpoint_witness, note_witnessed
from panprivacy.protocols.transparency.merkle import ProofError
from panprivacy.protocols.transparency.signed_note import NoteError, NotSignedError
from panprivacy.protocols.transparency.tiles import MOST_LEVELS, WIDTH, Tile, TileError, parse_index_path
from panprivacy.protocols.transparency.witnessing import SIZE_MEDIA_TYPE, OtherSizeError
from storage import clock
from web.bodies import read_body
from web.failures import FAILURES, failure_response
from web.problems import method_not_allowed, not_found

CHECKPOINT_TYPE = "text/plain; charset=utf-8"
TILE_TYPE = "application/octet-stream"

LARGEST_REQUEST = 64 * 1024
"""Bytes of a request to the witness: a proof and a checkpoint with its signatures."""

_ABOUT_THE_POLICY = b"""\
# Whom to believe about this log (C2SP, tlog-policy), as its own server says.
# Keep this file, and compare it with one that you have from somebody else: it should not change unannounced.
"""

_FOR_GOOD = "public, max-age=31536000, immutable"
_METHODS = ("GET", "HEAD")


@csrf_exempt
def checkpoint(request: HttpRequest) -> HttpResponse:
    """GET the newest state that was signed."""
    try:
        _require_reading(request)
        with suppress(OperationalError):  # the last signed state is still true
            integrate()
        found = latest_checkpoint()
        if found is None:
            raise not_found("Nothing is signed yet. Ask again.")
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")
    return _fresh(checkpoint_note(found))


@csrf_exempt
def policy(request: HttpRequest) -> HttpResponse:
    """GET whom to believe about this log (C2SP, tlog-policy): its key, its witnesses, the quorum."""
    try:
        _require_reading(request)
        return _fresh(_ABOUT_THE_POLICY + site_policy().encode())
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")


@csrf_exempt
def tile(request: HttpRequest, level: str, number: str, width: str | None = None) -> HttpResponse:
    """GET hashes of one level: 256, or the first `width` of a tile that was not full."""
    try:
        _require_reading(request)
        wanted = _tile(int(level), number, width)
        content = tile_bytes(wanted)
        return _for_good(content, f"The tree has no {wanted.path}.")
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")


@csrf_exempt
def entries(request: HttpRequest, number: str, width: str | None = None) -> HttpResponse:
    """GET leaves: 256, or the first `width` of a bundle that was not full."""
    try:
        _require_reading(request)
        wanted = _tile(0, number, width)
        content = bundle_bytes(wanted.index, wanted.width)
        return _for_good(content, "The tree has no such entries.")
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")


# The sender shows a log's signature, and nothing here depends on a session.
@csrf_exempt
def add_checkpoint(request: HttpRequest) -> HttpResponse:
    """POST a checkpoint of a log that this installation is a witness of."""
    try:
        if request.method != "POST":
            raise method_not_allowed("POST")
        body = read_body(request, LARGEST_REQUEST)
        signature = checkpoint_witness(body=body, now=clock.database_now())
    except OtherSizeError as error:
        return HttpResponse(f"{error.size}\n", status=409, content_type=SIZE_MEDIA_TYPE)
    except UnknownLogError as error:
        return _refusal(404, error)
    except NotSignedError as error:
        return _refusal(403, error)
    except NoteError as error:
        return _refusal(400, error)
    except ProofError as error:
        return _refusal(422, error)
    except FAILURES as failure:
        return failure_response(failure, methods=("POST",), undone="Ask again.")
    return HttpResponse(signature.line, content_type=CHECKPOINT_TYPE)


@csrf_exempt
def witnessed(request: HttpRequest, origin_hash: str) -> HttpResponse:
    """GET what this installation signed last of a log, by the SHA-256 of the log's name."""
    try:
        _require_reading(request)
        note = note_witnessed(origin_hash)
        if note is None:
            raise not_found("This installation signed nothing of such a log.")
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")
    return _fresh(note.encode())


def _fresh(note: bytes) -> HttpResponse:
    response = HttpResponse(note, content_type=CHECKPOINT_TYPE)
    response["Cache-Control"] = "no-cache"
    return response


def _refusal(status: int, error: Exception) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=status, content_type=CHECKPOINT_TYPE)


def _tile(level: int, number: str, width: str | None) -> Tile:
    try:
        if level >= MOST_LEVELS:
            raise TileError("there is no such level")
        if width is not None and int(width) >= WIDTH:
            raise TileError("a full tile has one address, without its width")
        return Tile(level, parse_index_path(number), WIDTH if width is None else int(width))
    except TileError:
        raise not_found("There is no such tile.") from None


def _for_good(content: bytes | None, missing: str) -> HttpResponse:
    if content is None:
        raise not_found(missing)
    response = HttpResponse(content, content_type=TILE_TYPE)
    response["Cache-Control"] = _FOR_GOOD
    return response


def _require_reading(request: HttpRequest) -> None:
    if request.method not in _METHODS:
        raise method_not_allowed(", ".join(_METHODS))
