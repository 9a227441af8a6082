"""The settings that one process of an installation is given: the values of PANAPP_PROCESS, as a table.

A compromised process exposes its secrets, so each gets only those it needs. Without this variable a process
may do everything and needs everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

SECRET, SIGNING, SEALING = "PANAPP_SECRET_KEY", "PANAPP_SIGNING_KEY", "PANAPP_KEY_ENCRYPTION_KEY"
KEYS = (SECRET, SIGNING, SEALING)
KEY_SERVICE_PIN = "PANAPP_KEY_SERVICE_PIN"
CLIENT_SECRET = "PANAPP_OIDC_CLIENT_SECRET"  # noqa: S105  # the name of a variable
OTLP_HEADERS = "PANAPP_OTLP_HEADERS"
SECRETS = (*KEYS, KEY_SERVICE_PIN, CLIENT_SECRET, OTLP_HEADERS)
"""Variables that a process refuses if it does not need them."""


@dataclass(frozen=True)
class ProcessKind:
    """One row of the table.

    Attributes:
        name: value of PANAPP_PROCESS.
        keys: variables of the secrets that it needs, of `KEYS`; it refuses the others.
        erases: whether it uses erasable keys: it opens what is sealed under them, or only erases them.
        broker: whether it speaks to it. Without a broker it has no cache either. All speak to the database.
        threads: whether threads share its connections to the database.
        notifies: whether it speaks to the mail server and to the collector of metrics, if there are such.
        owns_tables: whether it signs in to the database as the owner of the tables, to migrate them.
    """

    name: str
    keys: tuple[str, ...] = ()
    erases: bool = False
    broker: bool = True
    threads: bool = False
    owns_tables: bool = False
    notifies: bool = False

    @property
    def signs_in(self) -> bool:
        """Whether people sign in there: it signs sessions."""
        return SECRET in self.keys

    def refuse_keys(self, variables: Mapping[str, str]) -> None:
        """Refuse an environment with secrets for which this process has no use.

        Raises:
            ImproperlyConfigured: names the variable.
        """
        needed = {*self.keys, *([KEY_SERVICE_PIN] if self.erases else ())}
        needed |= {CLIENT_SECRET} if self.signs_in else set()
        needed |= {OTLP_HEADERS} if self.notifies else set()
        for name in SECRETS:
            if name not in needed and variables.get(name):
                raise ImproperlyConfigured(
                    f"PANAPP_PROCESS={self.name} has no use for {name}; take it out of its environment"
                )


KINDS = {
    kind.name: kind
    for kind in (
        ProcessKind("all", keys=KEYS, erases=True, threads=True, notifies=True),
        ProcessKind("web", keys=KEYS, erases=True, threads=True),
        # Signs the rounds of series, which open by the clock.
        ProcessKind("worker", keys=(SIGNING, SEALING), erases=True),
        # Verifies reports, too: it opens what clients sealed.
        ProcessKind("worker-to-helper", keys=(SIGNING, SEALING), erases=True),
        ProcessKind("worker-to-shuffler", keys=(SIGNING,)),
        # Computes from what is public or in a draft, and authenticates the numbers in the cache.
        ProcessKind("worker-of-numbers", keys=(SEALING,)),
        # Opens the secrets with which webhooks are signed.
        ProcessKind("worker-to-subscribers", keys=(SEALING,), erases=True, notifies=True),
        # Asks the database which periodic tasks wait or run.
        ProcessKind("beat"),
        # Reads the audit log only.
        ProcessKind("audit-stream", broker=False),
        ProcessKind("migrate", broker=False, owns_tables=True),
        ProcessKind("upkeep", erases=True, broker=False),
        # An attester's, which notifies the issuer of withheld tokens.
        ProcessKind("signing-upkeep", broker=False, keys=(SIGNING,)),
    )
}


def process_kind_named(name: str) -> ProcessKind:
    """The kind of this name. Raises ImproperlyConfigured if there is none."""
    if name not in KINDS:
        raise ImproperlyConfigured(f"PANAPP_PROCESS must be one of {', '.join(KINDS)}, not {name!r}")
    return KINDS[name]
