"""Plans that took long, and those under way, in the cache `plans`.

Anyone may ask for plans, as many different ones as they like. So nothing here grows with the
number of questions: there are `MOST_PENDING` slots for tasks, and only their results are kept.
"""

from typing import Any

from django.core.cache import caches

from panprivacy.accounting.number_cache import number_key
from panprivacy.planning.plan import Question

KEPT_SECONDS = 3_600
"""How long a result is kept."""

INCOMPLETE_SECONDS = 300
"""The same of one for which time did not suffice: a busy minute is over then, and it is computed again."""

PENDING_SECONDS = 180
"""From being asked for, a task has so long to answer; then it is taken for lost, and its slot is free."""

MOST_PENDING = 16
"""Tasks that may be waiting or running, of the whole installation.

Of two processes that take the same slot at once, a cache in Redis lets one have it. A cache in files may
report success to both; then the slot is the last one's, and the other's task finds its slot lost.
"""

SHAPE = "plan, with a warning"
"""Change it whenever the fields of a plan change: plans of other versions may be in the cache."""


def key_of(question: Question) -> str:
    """The same for equal questions to the same version of the library."""
    return number_key(SHAPE, question.as_dict())


def result_get(key: str) -> dict[str, Any] | None:
    """The finished plan, if there is one."""
    plan: dict[str, Any] | None = caches["plans"].get(f"plan:{key}")
    return plan


def result_put(key: str, plan: dict[str, Any]) -> None:
    """Keep a finished plan."""
    caches["plans"].set(f"plan:{key}", plan, KEPT_SECONDS if plan["complete"] else INCOMPLETE_SECONDS)


def begun_get(key: str) -> dict[str, Any] | None:
    """The first part of a plan whose task is still computing."""
    plan: dict[str, Any] | None = caches["plans"].get(f"begun:{key}")
    return plan


def begun_put(key: str, plan: dict[str, Any]) -> None:
    """Keep the first part of a plan as long as its task may take for the rest, at least."""
    caches["plans"].set(f"begun:{key}", plan, PENDING_SECONDS)


def is_pending(key: str) -> bool:
    """Whether a task for it is believed to be under way."""
    return caches["plans"].get(f"pending:{key}") is not None


def pending_take(key: str) -> bool:
    """Become the process that sends a task for it; False if there is one already."""
    return caches["plans"].add(f"pending:{key}", True, PENDING_SECONDS)


def sent_note(key: str, seconds: int) -> None:
    """A task was sent for it, and a worker is to begin it within this many seconds."""
    caches["plans"].set(f"waiting:{key}", True, seconds)


def begun_note(key: str, slot: int) -> None:
    """A worker has begun with it, and has `PENDING_SECONDS` to finish. The slot must be the key's."""
    caches["plans"].set(f"slot:{slot}", key, PENDING_SECONDS)
    for noted in ("pending", "waiting"):
        caches["plans"].set(f"{noted}:{key}", True, PENDING_SECONDS)


def is_waited_for(key: str) -> bool:
    """Whether a worker has begun with it, or has time left to do so."""
    return caches["plans"].get(f"waiting:{key}") is not None


def settled_note(key: str, refusal: tuple[str, str] | None) -> None:
    """It is computed, and what it is made of remembered.

    Args:
        refusal: field and message, if the recipe does not keep what it states.
    """
    caches["plans"].set(f"settled:{key}", {"refusal": refusal}, KEPT_SECONDS)


def settled_get(key: str) -> tuple[bool, tuple[str, str] | None]:
    """Whether it is computed, as far as is known, and `settled_note`'s refusal."""
    known = caches["plans"].get(f"settled:{key}")
    refusal = None if known is None else known["refusal"]
    return known is not None, None if refusal is None else (refusal[0], refusal[1])


def slow_note(key: str) -> None:
    """It took longer than a request may: requests leave it to a task."""
    caches["plans"].set(f"slow:{key}", True, KEPT_SECONDS)


def is_slow(key: str) -> bool:
    """Whether a request has computed it in vain."""
    return caches["plans"].get(f"slow:{key}") is not None


def given_up_note(key: str) -> None:
    """A task had no time for it: it is not asked for again so soon."""
    caches["plans"].set(f"given-up:{key}", True, INCOMPLETE_SECONDS)


def is_given_up(key: str) -> bool:
    """Whether a task had no time for it a moment ago."""
    return caches["plans"].get(f"given-up:{key}") is not None


def pending_release(key: str) -> None:
    """Let others send a task for it."""
    caches["plans"].delete(f"pending:{key}")


def slot_take(key: str) -> int | None:
    """A free slot for a task, now the key's; None if all are taken."""
    for slot in range(MOST_PENDING):
        if caches["plans"].add(f"slot:{slot}", key, PENDING_SECONDS):
            return slot
    return None


def slot_is_held(key: str, slot: int) -> bool:
    """Whether the slot is still the key's: not taken for lost, and not given to another."""
    return bool(caches["plans"].get(f"slot:{slot}") == key)


def slot_release(key: str, slot: int) -> None:
    """Give the slot back and let others send a task; nothing if the slot is not the key's any more."""
    if slot_is_held(key, slot):
        pending_release(key)
        caches["plans"].delete(f"slot:{slot}")


def broker_was_silent() -> bool:
    """Whether the broker did not take a task a moment ago."""
    return caches["plans"].get("broker-silent") is not None


def broker_note_silent(seconds: int) -> None:
    """Spare the next requests the wait for a broker that does not answer."""
    caches["plans"].set("broker-silent", True, seconds)
