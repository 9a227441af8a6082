"""`python -m panapp.generate_secrets`: fresh secrets, as lines for an environment file.

Not a Django command: those need complete settings, and this is what completes them. Values for the other
server of a collection are printed to standard error: no secret, and not for this environment file.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import os
import secrets
import stat
import sys

from panapp.verification_key import verification_key
from storage.local_secrets import fresh_secrets

READ_BY_COMPOSE = (
    "POSTGRES_PASSWORD",
    "POSTGRES_OWNER_PASSWORD",
    "POSTGRES_PROCESS_PASSWORD",
    "REDIS_PASSWORD",
)
"""Passwords of the services that the processes use."""


def named_secrets() -> dict[str, str]:
    """A fresh value for every secret of an installation, by the name of its variable; none needs quoting."""
    named = {f"PANAPP_{name.upper()}": value for name, value in fresh_secrets().items()}
    named["PANAPP_METRICS_TOKEN"] = secrets.token_urlsafe(32)
    named.update({name: secrets.token_urlsafe(32) for name in READ_BY_COMPOSE})
    return named


def for_the_other_side(signing_key: str) -> list[str]:
    """What the organization of the other server must be given, for every role."""
    key = verification_key(signing_key)
    return [
        "The public half of PANAPP_SIGNING_KEY. The other side of a collection is set up with",
        f"  PANAPP_LEADER_KEY={key}  if this is the leader,",
        f"  PANAPP_HELPER_KEY={key}  if this is the helper,",
        f"  PANAPP_ANALYZER_KEY={key}  if this site publishes recipes through a shuffler,",
        f"  PANAPP_SHUFFLER_KEY={key}  if this is the shuffler,",
        f"  PANAPP_SITE_KEY={key}  if this site publishes recipes with tokens,",
        f"  PANAPP_ISSUER_KEY={key}  if this is the issuer of tokens,",
        f"  PANAPP_ATTESTER_KEY={key}  if this is the attester.",
    ]


def keep_from_others(descriptor: int) -> None:
    """Make an open file readable by its owner only; shells make files that all users may read."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)


def main() -> None:
    """Print all secrets, and to standard error what the other side needs."""
    made = named_secrets()
    keep_from_others(sys.stdout.fileno())
    sys.stdout.writelines(f"{name}={value}\n" for name, value in made.items())
    sys.stderr.writelines(f"{line}\n" for line in for_the_other_side(made["PANAPP_SIGNING_KEY"]))


if __name__ == "__main__":
    console.run(main)
