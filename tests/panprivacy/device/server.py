"""A server in memory that answers as in docs/protocol.md: a WSGI application, with or without a socket."""

import base64
import binascii
import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.transport import RETRIES, ServedRecipe
from panprivacy.encryption.interface import InvalidCiphertextError, PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import TokenRefusedError, token_require
from tests.panprivacy.device.in_process import Application, InProcessTransport
from tests.tokens import ISSUER_KEY

AT_ONCE = RETRIES.new(backoff_factor=0)
"""As devices repeat requests, but without pauses."""

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
VERIFICATION_KEY = SIGNING_KEY.public_key().public_bytes_raw()


class MemoryServer:
    """Keeps reports of one recipe in a dictionary, nonce -> encoded ciphertexts."""

    def __init__(self, recipe: PublishedRecipe, private_key: PrivateKey) -> None:
        self.recipe = recipe
        self.private_key = private_key
        self.reports: dict[bytes, tuple[bytes, ...]] = {}
        self.batches: list[int] = []
        self.closed = False
        self.takes_reports = True
        self._lock = threading.Lock()

    @property
    def served(self) -> ServedRecipe:
        status = "closed" if self.closed else "open"
        return ServedRecipe(
            self.recipe.identifier,
            self.recipe.document,
            self.recipe.sign(SIGNING_KEY),
            status,
            issuer_signature=None if self.recipe.admission is None else self.recipe.sign(ISSUER_KEY),
        )

    def transport(self) -> InProcessTransport:
        return InProcessTransport(self)

    def decrypted(self) -> list[tuple[int, ...]]:
        key, allowed = self.private_key, self.recipe.calibrated_statistic.allowed_values
        return [
            tuple(key.decrypt(key.public_key.parse(ciphertext), allowed) for ciphertext in report)
            for report in self.reports.values()
        ]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        with self._lock:
            status, members = self._answer(environ, body)
        return answered(start_response, status, members)

    def _answer(self, environ: dict[str, Any], body: bytes) -> tuple[int, dict[str, Any]]:
        path, method = environ["PATH_INFO"].removeprefix("/api/v1"), environ["REQUEST_METHOD"]
        recipe_path = f"/recipes/{self.recipe.identifier}"
        if (method, path) == ("GET", "/verification-key/"):
            return 200, {"algorithm": "ed25519", "public_key": base64.b64encode(VERIFICATION_KEY).decode()}
        if (method, path) == ("GET", "/recipes/"):
            if "cursor=2" in environ["QUERY_STRING"]:
                return 200, {"next": None, "results": [{"id": self.recipe.identifier}]}
            following = f"http://elsewhere.example/api/v1/recipes/?{environ['QUERY_STRING']}&cursor=2"
            return 200, {"next": following, "results": [{"id": "0" * 64}]}
        if (method, path) == ("GET", f"{recipe_path}/"):
            return 200, page_of(self.served)
        if method == "POST" and environ["CONTENT_TYPE"] != "application/json":
            return 415, problem("unsupported-media-type", 415, "Send JSON.")
        if method != "POST" or path not in (f"{recipe_path}/reports/", f"{recipe_path}/reports/batch/"):
            return 404, problem("not-found", 404, "There is no such page.")
        if self.closed or not self.takes_reports:
            return 409, problem("recipe-not-open", 409, "It has not opened yet, or is closed.")
        if path.endswith("/batch/"):
            reports = json.loads(body)["reports"]
            self.batches.append(len(reports))
            reasons = [self._store(*_decoded(report)) for report in reports]
            rejected = [
                {"index": index, "reason": reason, "detail": ""}
                for index, reason in enumerate(reasons)
                if reason is not None
            ]
            return 200, {"accepted": len(reports) - len(rejected), "rejected": rejected}
        try:
            nonce, ciphertexts, token = _decoded(json.loads(body))
        except (ValueError, KeyError, binascii.Error):
            return 400, problem("malformed-body", 400, "Not a report.")
        reason = self._store(nonce, ciphertexts, token)
        if reason is None:
            return 201, {"status": "accepted"}
        status = 409 if reason == "duplicate_nonce" else 422
        return status, problem("report-rejected", status, "The report was rejected.") | {"reason": reason}

    def _store(self, nonce: bytes, ciphertexts: Sequence[bytes], token: bytes | None) -> str | None:
        if len(nonce) != 16:
            return "wrong_nonce_size"
        if self.recipe.admission is not None:
            try:
                token_require(self.recipe, token, nonce, ciphertexts)
            except TokenRefusedError as error:
                return error.reason
        if len(ciphertexts) != self.recipe.calibrated_statistic.report_ciphertexts:
            return "wrong_ciphertext_count"
        try:
            for ciphertext in ciphertexts:
                self.private_key.public_key.parse(ciphertext)
        except InvalidCiphertextError:
            return "invalid_ciphertext"
        if nonce in self.reports:
            return "duplicate_nonce"
        self.reports[nonce] = tuple(ciphertexts)
        return None


def _decoded(report: dict[str, Any]) -> tuple[bytes, list[bytes], bytes]:
    return (
        base64.b64decode(report["nonce"], validate=True),
        [base64.b64decode(text, validate=True) for text in report["ciphertexts"]],
        base64.b64decode(report.get("token", ""), validate=True),
    )


def problem(kind: str, status: int, detail: str = "") -> dict[str, Any]:
    return {"type": f"/problems/{kind}", "title": kind.replace("-", " "), "status": status, "detail": detail}


def page_of(served: ServedRecipe, partner: str = "helper") -> dict[str, Any]:
    """The recipe's page of the REST API."""
    signatures = {
        "signature": served.signature,
        f"{partner}_signature": served.partner_signature,
        "issuer_signature": served.issuer_signature,
    }
    encoded = {
        name: signature and base64.b64encode(signature).decode() for name, signature in signatures.items()
    }
    return {"id": served.identifier, "document": served.document, "status": served.status, **encoded}


def answered(start_response: Callable[..., Any], status: int, members: dict[str, Any]) -> list[bytes]:
    """An answer in JSON of a WSGI application."""
    kind = "application/json" if status < 400 else "application/problem+json"
    start_response(f"{status} Status", [("Content-Type", kind)])
    return [json.dumps(members).encode()]


class Stumbling:
    """Stores what comes, but answers the first requests of one method with an error."""

    def __init__(self, server: Application, method: str, statuses: list[int], retry_after: str = "") -> None:
        self.server = server
        self.method = method
        self.statuses = statuses
        self.headers = [("Retry-After", retry_after)] if retry_after else []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not self.statuses or environ["REQUEST_METHOD"] != self.method:
            return self.server(environ, start_response)
        self.server(environ, lambda *_: None)
        start_response(f"{self.statuses.pop(0)} Stumble", self.headers)
        return [b"out of order"]


@contextlib.contextmanager
def listening(application: Callable[..., Iterable[bytes]]) -> Iterator[str]:
    """Serve a WSGI application on a free port with kept-alive connections; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            transport = InProcessTransport(application)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            own = ("content-type", "content-length", "accept", "host")
            answer = transport.exchange(
                self.command,
                self.path,
                body=body,
                content_type=self.headers.get("Content-Type", ""),
                fields={name: value for name, value in self.headers.items() if name.lower() not in own},
            )
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = answer  # noqa: N815  # names that the base class looks up

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
