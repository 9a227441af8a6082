"""What time it is: the database's clock, and what of it may be acted upon for good.

Processes run on several machines, and each has a clock of its own. Whether something is over is asked of the
one clock that all of them share: the database's. (SQLite has none, and takes the host's.)

That clock may be wrong, too. Closing, withholding and deleting cannot be undone, so they ask `settled_now`,
which does not jump. Each machine remembers, in the database, how far the database's clock was when its own
steady clock (seconds since it started, which cannot be set) had a certain value. If the database's clock then
leaves that pace, it is not believed until it has kept its new one for `CONFIRMED_AFTER`.
"""

import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from django.db import connection
from django.utils import timezone

from storage.models import ClockWitness

logger = structlog.get_logger(__name__)

LARGEST_JUMP = timedelta(seconds=30)
"""By how much the database's clock may leave the pace of a steady one at once and be believed."""

CONFIRMED_AFTER = timedelta(minutes=10)
"""Time by a steady clock after which a jump is believed."""

LOOK_AGAIN = timedelta(minutes=1)
"""Between two notes of a machine that finds nothing wrong."""

RECENTLY = 5 * LOOK_AGAIN
"""Time for which the note of a machine counts as recent."""

KEPT = timedelta(days=30)
"""For which the note of a machine is kept that does not come any more."""

_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_THIS_PROCESS = f"process {uuid.uuid4()}"


def database_now() -> datetime:
    """The time by the database's clock, with its time zone. Not for what cannot be undone: see
    `settled_now`."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now.astimezone(UTC)


def settled_now() -> datetime:
    """The latest time that is certain enough to close, withhold or delete by; never after `database_now`.

    After a jump of the database's clock this continues at the previous pace, and on a machine that was off,
    from the last time that any machine noted: for `CONFIRMED_AFTER` at most.
    """
    look = _look()
    before = ClockWitness.objects.filter(boot=look.boot).first()
    others = ClockWitness.objects.order_by("-database_at").values_list("database_at", flat=True)
    verdict = judge(look, before, others.first() if before is None else None)
    if verdict.note is not None:
        ClockWitness.objects.update_or_create(boot=look.boot, defaults=verdict.note)
        ClockWitness.objects.filter(noted_at__lt=look.now - KEPT).exclude(boot=look.boot).delete()
    return verdict.settled


@dataclass(frozen=True)
class Look:
    """One reading of all clocks.

    Attributes:
        now: the database's.
        boot: names the run of the machine's steady clock, which starts anew at each start of it.
        steady: that clock, in seconds.
        ahead: seconds by which this process's own clock is ahead of the database's.
    """

    now: datetime
    boot: str
    steady: float
    ahead: float


@dataclass(frozen=True)
class Verdict:
    """The outcome of a reading: the time to act by, and what to note for the next one, if anything."""

    settled: datetime
    note: dict[str, object] | None


def judge(look: Look, before: ClockWitness | None, newest: datetime | None) -> Verdict:
    """What to believe of the database's clock.

    Args:
        before: what this machine noted last; None if it never did since it started.
        newest: the latest time that any machine believed; None if none ever did, or `before` is given.
    """
    steady = look.steady
    agreed = _note(look, database_at=look.now, steady_seconds=steady)
    if before is None:
        # The others note that nothing is wrong once in `LOOK_AGAIN`.
        if newest is None or look.now - newest <= LOOK_AGAIN + LARGEST_JUMP:
            return Verdict(look.now, agreed)
        # Was everything off for so long, or is the clock wrong? At least from this reading on, time passes at
        # the normal pace.
        return Verdict(newest, _note(look, database_at=newest, steady_seconds=steady, doubted=True))
    expected = before.database_at + timedelta(seconds=steady - before.steady_seconds)
    if abs(look.now - expected) <= LARGEST_JUMP:
        due = steady - before.steady_seconds >= LOOK_AGAIN.total_seconds()
        changed = before.doubted_at is not None or abs(look.ahead - before.ahead_seconds) >= 1
        return Verdict(look.now, agreed if due or changed else None)
    settled = min(expected, look.now)
    if before.doubted_at is None or before.doubted_steady_seconds is None:
        return Verdict(settled, _note(look, doubted=True))
    passed = timedelta(seconds=steady - before.doubted_steady_seconds)
    if abs(look.now - before.doubted_at - passed) > LARGEST_JUMP:
        return Verdict(settled, _note(look, doubted=True))  # it jumped once more
    if passed < CONFIRMED_AFTER:
        due = look.now - before.noted_at >= LOOK_AGAIN
        return Verdict(settled, {"noted_at": look.now, "ahead_seconds": look.ahead} if due else None)
    logger.warning("clock_jump_believed", seconds=(look.now - expected).total_seconds())
    return Verdict(look.now, agreed)


def recent_notes() -> list[ClockWitness]:
    """Notes of the machines that call `settled_now` at present."""
    return list(ClockWitness.objects.filter(noted_at__gte=database_now() - RECENTLY))


def process_ahead() -> float:
    """Seconds by which this process's clock is ahead of the database's; negative if it is behind."""
    return _look().ahead


def _note(look: Look, *, doubted: bool = False, **changes: object) -> dict[str, object]:
    return {
        "noted_at": look.now,
        "ahead_seconds": look.ahead,
        "doubted_at": look.now if doubted else None,
        "doubted_steady_seconds": look.steady if doubted else None,
        **changes,
    }


def _look() -> Look:
    now = database_now()
    ahead = round((timezone.now() - now).total_seconds(), 2)
    # If the machine does not reveal which boot this is, each process counts as a machine of its own.
    boot = _BOOT_FILE.read_text().strip() if _BOOT_FILE.exists() else _THIS_PROCESS
    return Look(now, boot, time.clock_gettime(_STEADY), ahead)
