"""What tokens and a relay cost a report: processor time of one with both, over that of one with neither.

Run from the repository's root: `python -m benchmarks.admission_reports [--reports N]`. One process plays
device, relay and site (DATABASE_URL, by default SQLite), and what is between them is a function call: no
socket, no TLS. Each report is made by a device of its own (every step), sealed if there is a relay,
forwarded, opened, its token verified, and stored. Tokens are there beforehand: `benchmarks.admission`
measures issuing.

The two kinds take turns, so that a busy machine troubles both. Writes
`benchmarks/results/admission_reports.json`. Exits with 1 if the bar is not met.
"""

import argparse
import json
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "admission_reports.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from benchmarks.local_site import MEMBERS, prepare

BAR = 3.0
"""Most times the cost of a report without tokens and relay."""

SITE_URL, RELAY_URL = "http://127.0.0.1", "http://127.0.0.1/relay/site"
ISSUER_URL, ATTESTER_URL = "http://127.0.0.1/issuer", "http://127.0.0.1/attester"


class Issuer:
    """What a site needs of one to publish: a key, and a signature of the document."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        from panprivacy.protocols.privacy_pass import rsa_keys

        self.signing_key = Ed25519PrivateKey.generate()
        self.token_key = rsa_keys.generate(secrets.SystemRandom())

    def __call__(
        self, _method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        from panprivacy.formats import base64_text
        from panprivacy.protocols.dap.signatures import sign_response
        from panprivacy.recipe.document import PublishedRecipe

        if url.endswith("/token-keys"):
            members = {
                "token_key": base64_text.encode(self.token_key.public.encoded),
                "issuer_name": "127.0.0.1",
                "attester_url": ATTESTER_URL,
            }
        else:
            recipe = PublishedRecipe.from_document(json.loads(json.loads(body)["document"]))
            members = {"signature": base64_text.encode(recipe.sign(self.signing_key))}
        content, answered = json.dumps(members).encode(), {"Content-Type": "application/json"}
        signed = sign_response(
            status=200, headers=answered, body=content, request_headers=headers, signing_key=self.signing_key
        )
        return 200, answered | signed, content

    def token(self, recipe: Any) -> Any:
        """A token as a device gets it from here, through its attester."""
        from panprivacy.protocols.privacy_pass import issuance
        from panprivacy.recipe.token import challenge

        source = secrets.SystemRandom()
        pending = issuance.ask(self.token_key.public, challenge(recipe), source)
        return pending.finish(issuance.issue(self.token_key, pending.request, source))


def published(issuer: Issuer, **members: Any) -> Any:
    """A recipe of the site."""
    from django.conf import settings

    from partners.partner import Partner
    from publishing.admission import Admitting
    from publishing.publication import recipe_publish_file

    key = issuer.signing_key.public_key().public_bytes_raw()
    partner = Partner(ISSUER_URL, key, "", settings.SIGNING_KEY, issuer)
    recipe = recipe_publish_file(
        members={**MEMBERS, **members},
        actor=None,
        simulation=True,
        admitting=Admitting(partner, RELAY_URL),
    )
    return recipe.published


def transports() -> tuple[Any, Any]:
    """To the site, and to the relay before it; both in this process."""
    from django.conf import settings
    from django.test import Client, RequestFactory

    import partners.ohttp.relay.gateway_request
    from panprivacy.device.transport import JSON, Answer, Transport
    from partners.ohttp.relay.views import relay as relay_view

    client, factory = Client(SERVER_NAME="127.0.0.1"), RequestFactory(SERVER_NAME="127.0.0.1")

    def to_the_site(method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any) -> Any:
        answer = client.generic(
            method, urlsplit(url).path, body, content_type=headers.get("Content-Type", "")
        )
        return answer.status_code, dict(answer.headers), answer.content

    partners.ohttp.relay.gateway_request.https_transport = to_the_site  # type: ignore[assignment,attr-defined]  # the socket
    settings.RELAY_GATEWAYS = {"site": SITE_URL}

    class InProcess(Transport):
        def __init__(self, is_relay: bool = False) -> None:
            self._is_relay = is_relay

        def at(self, base_url: str) -> Transport:
            return InProcess(is_relay=base_url == RELAY_URL)

        def exchange(
            self,
            method: str,
            target: str,
            *,
            body: bytes = b"",
            content_type: str = "",
            accept: str = JSON,
            fields: Mapping[str, str] | None = None,  # noqa: ARG002  # reports need none
        ) -> Answer:
            given = {"Accept": accept}
            if self._is_relay:
                request = factory.generic(
                    method, "/relay/site", body, content_type=content_type, headers=given
                )
                answer: Any = relay_view(request, "site")
            else:
                answer = client.generic(method, target, body, content_type=content_type, headers=given)
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status_code, headers, answer.content)

    return InProcess(), InProcess(is_relay=True)


def measure(reports: int) -> dict[str, Any]:
    """Seconds of processor time of both kinds of report."""
    from panprivacy.device.algorithm import ClientAlgorithm, wire_report
    from panprivacy.device.transport import Delivery
    from panprivacy.device.trust_models import report_path
    from panprivacy.recipe.token import report_nonce
    from storage.signing_key import verification_key

    issuer, (direct, _) = Issuer(), transports()
    source, key = secrets.SystemRandom(), verification_key().public_bytes_raw()
    recipes = {"plain": published(issuer), "admitted": published(issuer, admission="token", relay=True)}
    tokens = [issuer.token(recipes["admitted"]) for _ in range(reports + 2)]
    uploads, algorithms = {}, {}
    for kind, recipe in recipes.items():
        path = report_path(recipe, key)
        uploads[kind] = path.upload(path.transport(direct))
        algorithms[kind] = ClientAlgorithm(recipe)
    spent = dict.fromkeys(recipes, 0.0)
    for number in range(reports + 2):
        for kind, algorithm in algorithms.items():
            token = tokens[number] if kind == "admitted" else None
            nonce = None if token is None else report_nonce(token)
            started = time.process_time()
            state = algorithm.start(source, nonce)
            for step in range(algorithm.steps):
                state = algorithm.step(state, step == 0, source)
            state = algorithm.finish(state, source, nonce)
            shown = None if token is None else token.encode()
            delivery = uploads[kind].submit(replace(wire_report(state), token=shown))
            if number >= 2:  # the first ones fetch keys and fill caches
                spent[kind] += time.process_time() - started
            if delivery is not Delivery.ACCEPTED:
                raise RuntimeError(f"a report was not taken: {delivery}")
    return {kind: seconds / reports for kind, seconds in spent.items()}


def main() -> int:
    """Measure, print and write; 1 if the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=200)
    reports = parser.parse_args().reports
    with tempfile.TemporaryDirectory(prefix="panapp-bench-") as directory:
        prepare(Path(directory))
        seconds = measure(reports)
    ratio = seconds["admitted"] / seconds["plain"]
    result = {
        "reports": reports,
        "milliseconds_plain": round(1000 * seconds["plain"], 2),
        "milliseconds_with_token_and_relay": round(1000 * seconds["admitted"], 2),
        "ratio": round(ratio, 2),
        "bar": BAR,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
