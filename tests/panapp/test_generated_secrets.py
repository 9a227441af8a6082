"""Secrets that are made for an installation, and the keys that are told to others."""

import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panapp.generate_secrets import named_secrets
from storage.key_halves import public_half
from tests.panapp.scene import PLACES, ROOT, VALUES


def test_generated_secrets_are_fresh_each_time() -> None:
    first, second = named_secrets(), named_secrets()
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())


def run_module(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m`, where production settings are incomplete."""
    return subprocess.run(
        [sys.executable, "-m", name],
        cwd=ROOT,
        env={**PLACES, "PANAPP_MODE": "production", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_generate_secrets_prints_secrets_and_apart_the_public_key() -> None:
    made = run_module("panapp.generate_secrets")
    assert made.returncode == 0, made.stderr
    ours = dict(line.split("=", 1) for line in made.stdout.splitlines())
    assert ours.keys() == named_secrets().keys()
    # What the other side is told verifies what we sign, and holds none of our secrets.
    told = dict(re.findall(r"^  (PANAPP_\w+_KEY)=(\S+) ", made.stderr, re.MULTILINE))
    sides = ("LEADER", "HELPER", "ANALYZER", "SHUFFLER", "SITE", "ISSUER", "ATTESTER")
    assert set(told) == {f"PANAPP_{side}_KEY" for side in sides}
    assert not set(told.values()) & set(ours.values())
    signature = Ed25519PrivateKey.from_private_bytes(base64.b64decode(ours["PANAPP_SIGNING_KEY"])).sign(b"x")
    for key in told.values():
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(signature, b"x")


def test_verification_key_of_an_existing_signing_key_is_printed_again() -> None:
    secret = named_secrets()["PANAPP_SIGNING_KEY"]
    printed = run_module("panapp.verification_key", PANAPP_SIGNING_KEY=secret)
    assert base64.b64decode(printed.stdout) == public_half(base64.b64decode(secret))


@pytest.mark.parametrize("role", [pytest.param("all-in-one", marks=pytest.mark.long), "shuffler"])
def test_verification_key_of_a_local_installation_is_the_used_one(role: str, tmp_path: Path) -> None:
    environment = {
        "PANAPP_MODE": "local",
        "PANAPP_ROLE": role,
        "PANAPP_DATA_DIR": str(tmp_path),
        # Of another one: a local installation makes its own, and has not looked at this.
        "PANAPP_SIGNING_KEY": named_secrets()["PANAPP_SIGNING_KEY"],
    }
    # Before there is anything else, and before the other side's key is known.
    printed = run_module("panapp.verification_key", **environment)
    assert printed.returncode == 0, printed.stderr
    others = {"shuffler": {name: VALUES[name] for name in ("PANAPP_SHUFFLER_URL", "PANAPP_ANALYZER_KEY")}}
    used = subprocess.run(
        [sys.executable, "-c", "from panapp import settings; print(settings.SIGNING_KEY.hex())"],
        cwd=ROOT,
        env={**PLACES, **environment, **others.get(role, {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert base64.b64decode(printed.stdout) == public_half(bytes.fromhex(used.stdout))


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, "PANAPP_SIGNING_KEY must be set when PANAPP_MODE is production"),
        ({"PANAPP_SIGNING_KEY": "c2hvcnQ="}, "PANAPP_SIGNING_KEY must be 32"),
    ],
)
def test_verification_key_without_a_signing_key_says_so(environment: dict[str, str], says: str) -> None:
    printed = run_module("panapp.verification_key", **environment)
    assert (printed.returncode, printed.stdout) == (1, "")
    (line,) = printed.stderr.splitlines()
    assert line.startswith(says)
