"""Tokens per second and core: issued, and verified. Both also as ratios to bare RSA in the same run.

Run from the repository's root: `python -m benchmarks.admission [--tokens N]`. An issuer with a database of
its own (DATABASE_URL, by default SQLite) answers an attester's requests in this process: signature of the
request, capsule, blind signature, element, row and commit, answer, its signature. Requests are made before
the clock starts: that is the work of devices and attester. Verifying is what a server does with the token of
a report.

Bare are OpenSSL's own signature and verification (RSASSA-PSS, 2,048 bits), before and after. What is counted
is processor time: waiting for a disk or for other work is none. Writes `benchmarks/results/admission.json`.
Exits with 1 if a bar is not met.
"""

import argparse
import io
import json
import os
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "admission.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

ISSUED_BAR = 150.0
VERIFIED_BAR = 10_000.0
WARM = 10
"""Requests before the clock starts."""

ISSUER_URL, ATTESTER_URL = "http://127.0.0.1/issuer", "http://127.0.0.1/attester"


def per_second(operation: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """Calls per second of this process's time."""
    given = list(arguments)
    start = time.process_time()
    for argument in given:
        operation(argument)
    return len(given) / (time.process_time() - start)


def prepare(directory: Path) -> dict[str, Any]:
    """An issuer, before Django reads its settings; the signing keys of its site and attester."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from panprivacy.formats import base64_text

    partners = {"SITE": Ed25519PrivateKey.generate(), "ATTESTER": Ed25519PrivateKey.generate()}
    os.environ.update(
        {
            "PANAPP_ROLE": "issuer",
            "PANAPP_DATA_DIR": str(directory),
            "PANAPP_ISSUER_URL": ISSUER_URL,
            "PANAPP_ATTESTER_URL": ATTESTER_URL,
            **{
                f"PANAPP_{name}_KEY": base64_text.encode(key.public_key().public_bytes_raw())
                for name, key in partners.items()
            },
            "DJANGO_SETTINGS_MODULE": "panapp.settings",
        }
    )
    import django

    import panapp  # noqa: F401  # puts the apps on the import path

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return partners


class Issuer:
    """This process's WSGI application, and a recipe for which it issues tokens."""

    def __init__(self, partners: dict[str, Any]) -> None:
        from django.utils import timezone

        from panapp.wsgi import application
        from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
        from panprivacy.recipe.draft import RecipeDraft
        from panprivacy.recipe.parts.admission import TokenAdmission
        from panprivacy.statistics.trust_models.single_server import OneServer
        from storage.signing_key import verification_key
        from tokens.issuer.registrations import issuance_register, issuer_name, token_key_make

        self._application, self._partners = application, partners
        request, now = secrets.token_bytes(16), timezone.now()
        admission = TokenAdmission(
            issuer_name=issuer_name(),
            issuer_key=verification_key().public_bytes_raw(),
            attester_url=ATTESTER_URL,
            token_key=token_key_make(request=request, now=now),
        )
        draft = RecipeDraft.from_mapping(
            {
                "name": "Crashes",
                "question": "On how many devices did it crash?",
                "statistic": "count_nonzero",
                "steps": 4,
                "epsilon": 2.0,
                "delta": 1e-6,
                "cohort_size": 100,
                "admission": "token",
            }
        )
        key = generate_private_key(DEFAULT_SCHEME, secrets.SystemRandom()).public_key
        self.recipe = draft.publish(OneServer.of(key), now, simulation=True, admission=admission)
        document = self.recipe.canonical.decode()
        issuance_register(identifier=self.recipe.identifier, document=document, request=request, now=now)

    def environ(self, body: bytes) -> dict[str, Any]:
        """A request of the attester as a WSGI server hands it on, signed."""
        from panprivacy.protocols.dap.signatures import sign_request

        url, content_type = f"{ISSUER_URL}/tokens", "application/json"
        headers = sign_request(
            method="POST",
            url=url,
            body=body,
            content_type=content_type,
            signing_key=self._partners["ATTESTER"],
            created=int(time.time()),
        )
        named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        return {
            **named,
            "REQUEST_METHOD": "POST",
            "PATH_INFO": urlsplit(url).path,
            "QUERY_STRING": "",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.version": (1, 0),
        }

    def answer(self, environ: dict[str, Any]) -> dict[str, Any]:
        """The issuer's answer; RuntimeError if it refuses."""
        status: list[str] = []
        response = self._application(environ, lambda line, *_: status.append(line))
        body = b"".join(response)
        response.close()
        if not status[0].startswith("200"):
            raise RuntimeError(f"the issuer refused: {status[0]} {body[:200]!r}")
        answer: dict[str, Any] = json.loads(body)
        return answer


def issuing(issuer: Issuer, tokens: int) -> tuple[float, list[bytes]]:
    """Tokens issued per second and core, and the tokens."""
    from django.utils import timezone

    from panprivacy.formats import base64_text
    from panprivacy.protocols.oblivious_http import capsules, keys, padding
    from panprivacy.protocols.oblivious_http.binary_http import Response
    from panprivacy.protocols.oblivious_prf.evaluation import ask
    from panprivacy.protocols.privacy_pass import issuance
    from panprivacy.protocols.privacy_pass.tokens import TokenResponse
    from panprivacy.protocols.token_request import token_request
    from panprivacy.recipe.token import challenge, token_key
    from partners.ohttp.gateway.keys import key_list

    source = secrets.SystemRandom()
    config, *_ = keys.decode_list(key_list(now=timezone.now()))
    admission = issuer.recipe.admission
    if admission is None:
        raise RuntimeError("the recipe has no tokens")
    key, for_ = token_key(admission), challenge(issuer.recipe)
    pending, contexts, requests = [], [], []
    for number in range(tokens + WARM):
        pending.append(issuance.ask(key, for_, source))
        content = pending[-1].request.encode()
        inner = token_request("127.0.0.1", issuer.recipe.identifier, content).encode()
        capsule, context = capsules.seal(config, padding.padded(inner), source)
        contexts.append(context)
        body = {
            "element": base64_text.encode(ask(number.to_bytes(8, "big"), source).element),
            "capsule": base64_text.encode(capsule),
            "withheld": [],
        }
        requests.append(issuer.environ(json.dumps(body).encode()))
    answers = [issuer.answer(request) for request in requests[:WARM]]
    speed = per_second(lambda request: answers.append(issuer.answer(request)), requests[WARM:])
    made = []
    for asked, context, answer in zip(pending, contexts, answers, strict=True):
        response = Response.decode(context.open(base64_text.decode(answer["capsule"])))
        made.append(asked.finish(TokenResponse.decode(response.content)).encode())
    return speed, made


def bare(count: int) -> tuple[float, float]:
    """OpenSSL's signatures and verifications per second and core, of keys as long as ours."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
    from cryptography.hazmat.primitives.hashes import SHA384

    key, padding = rsa.generate_private_key(65_537, 2048), PSS(MGF1(SHA384()), 48)
    public, message = key.public_key(), bytes(98)
    signature = key.sign(message, padding, SHA384())
    signed = per_second(lambda _: key.sign(message, padding, SHA384()), range(count))
    verified = per_second(lambda _: public.verify(signature, message, padding, SHA384()), range(10 * count))
    return signed, verified


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="panapp-benchmark-") as name:
        issuer = Issuer(prepare(Path(name)))
        from panprivacy.recipe.token import token_nonce

        signed, checked = bare(arguments.tokens)
        issued, tokens = issuing(issuer, arguments.tokens)
        token_nonce(issuer.recipe, tokens[0])
        verified = per_second(lambda token: token_nonce(issuer.recipe, token), tokens * 10)
        signed_after, checked_after = bare(arguments.tokens)
    result = {
        "issued_per_second": issued,
        "issued_bar": ISSUED_BAR,
        "bare_signatures_per_second": [signed, signed_after],
        "issuing_over_bare": max(signed, signed_after) / issued,
        "verified_per_second": verified,
        "verified_bar": VERIFIED_BAR,
        "bare_verifications_per_second": [checked, checked_after],
        "verifying_over_bare": max(checked, checked_after) / verified,
        "tokens": arguments.tokens,
        "python": platform.python_version(),
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"issued    {issued:10,.0f} tokens per second and core, at least {ISSUED_BAR:,.0f}")
    print(f"          {result['issuing_over_bare']:10.1f} times as long as OpenSSL's bare signature")
    print(f"verified  {verified:10,.0f} tokens per second and core, at least {VERIFIED_BAR:,.0f}")
    print(f"          {result['verifying_over_bare']:10.1f} times as long as OpenSSL's bare verification")
    return int(issued < ISSUED_BAR or verified < VERIFIED_BAR)


if __name__ == "__main__":
    sys.exit(main())
