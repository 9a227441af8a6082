"""Plans that took long, and those under way, in the cache `plans`.

Anyone may ask for plans, as many different ones as they like. So nothing here grows with the
number of questions: there are `MOST_PENDING` slots for tasks, and only their results are kept.
"""

import hashlib
import json
from importlib.metadata import version
from typing import Any

from django.core.cache import caches

from panprivacy.accounting.version import VERSION
from panprivacy.planning.plan import Question

KEPT_SECONDS = 3_600
"""How long a result is kept."""

PENDING_SECONDS = 150
"""After so long a task that has not answered is taken for lost."""

MOST_PENDING = 16
"""Tasks that may be waiting or running, of the whole installation."""

LIBRARY = f"numbers {VERSION}; " + ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
"""What computed a result: another version computes anew."""


def key_of(question: Question) -> str:
    """The same for equal questions to the same version of the library."""
    document = json.dumps([LIBRARY, question.as_dict()], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(document.encode()).hexdigest()


def result_get(key: str) -> dict[str, Any] | None:
    """The finished plan, if there is one."""
    plan: dict[str, Any] | None = caches["plans"].get(f"plan:{key}")
    return plan


def result_put(key: str, plan: dict[str, Any]) -> None:
    """Keep a finished plan."""
    caches["plans"].set(f"plan:{key}", plan, KEPT_SECONDS)


def begun_get(key: str) -> dict[str, Any] | None:
    """The first part of a plan whose task is still computing."""
    plan: dict[str, Any] | None = caches["plans"].get(f"begun:{key}")
    return plan


def begun_put(key: str, plan: dict[str, Any]) -> None:
    """Keep the first part of a plan as long as its task may take for the rest."""
    caches["plans"].set(f"begun:{key}", plan, PENDING_SECONDS)


def is_pending(key: str) -> bool:
    """Whether a task for it is under way, as far as is known."""
    return caches["plans"].get(f"pending:{key}") is not None


def slot_take(key: str) -> int | None:
    """A free slot for a task, now the key's; None where all are taken."""
    for slot in range(MOST_PENDING):
        if caches["plans"].add(f"slot:{slot}", key, PENDING_SECONDS):
            caches["plans"].set(f"pending:{key}", slot, PENDING_SECONDS)
            return slot
    return None


def slot_release(key: str, slot: int) -> None:
    """Give the slot back, unless it was taken for lost and given to another."""
    caches["plans"].delete(f"pending:{key}")
    if caches["plans"].get(f"slot:{slot}") == key:
        caches["plans"].delete(f"slot:{slot}")


def broker_was_silent() -> bool:
    """Whether the broker did not take a task a moment ago."""
    return caches["plans"].get("broker-silent") is not None


def broker_note_silent(seconds: int) -> None:
    """Spare the next requests the wait for a broker that does not answer."""
    caches["plans"].set("broker-silent", True, seconds)
