"""An intruder with a browser's profile directory guesses on which devices the event happened.

Each profile holds many devices. Coins of the OS decide which have an event between two ticks. The intruder
gets the directory several times. It is told the truth of some devices, and learns a rule from what each
device left in any file: how often, where, how far apart, and bytes. It guesses the others; its advantage is
2 P(right) - 1.

If the directory does not depend on the events, the coins of the others are still fair and independent
given all that the intruder knows, whatever its rule and however the devices' files hang together. By
Hoeffding's inequality the advantage measured on n of them then exceeds sqrt(2 ln(2 / p) / n) with
probability at most p.
"""

import math
import re
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.browser.test_device import SITE
from tests.devices_web.vectors import private_key
from tests.tokens import token_admission

FAILURE = 1e-6
DEVICES = {"count_nonzero": 360, "histogram": 250, "mean": 250, "funnel": 250, "count with token": 105}
"""What is attacked → devices of a profile. All their records fit LevelDB's log, which keeps every version: it
holds 3.9 MB. With tokens, and a write at each event, records take 3.3 MB. They would take 3.5 MB if five
standard deviations more devices than expected had an event."""

LEARNED = 0.2
"""For which share of the devices the intruder is told the truth."""

ASKED = {
    "count_nonzero": {},
    "histogram": {"k": 1},
    "mean": {"k": 2, "guarantee": "local"},
    "funnel": {"events": ["search", "buy"]},
    "count with token": {"statistic": "count_nonzero", "admission": "token", "hpke": "x25519"},
}
"""What is attacked → further members of its recipes; the name is the statistic unless they say another."""

ATTESTER_URL = f"{SITE}attester"
"""Of the page's own origin."""

IDENTIFIERS = (
    re.compile(rb"(?:\x00[0-9a-f]){64}"),
    re.compile(rb"(?:[0-9a-f]\x00){64}"),
    re.compile(rb"[0-9a-f]{64}"),
)

BEGIN = """async (recipes) => {
  const { atSite, joinRecipe, PageDevice } = await import("/devices-web.js");
  window.last = {};
  window.count = 0;
  window.failures = [];
  window.names = recipes[0].served.document.events ?? [undefined];
  window.identifiers = recipes.map(({ served }) => served.id);
  window.asking = false;
  const site = { server: location.origin, policy: null, simulation: true };
  window.devices = recipes.map(({ served, keys }) => new PageDevice(served.id, {
    join: () => joinRecipe(served, keys, { simulation: true }),
    token: async (device, store) => {
      if (asking) await atSite(served.id, { ...site, keys }).token(device, store);
    },
    deliver: async () => {},
    stored: (state) => { last[served.id] = state; count += 1; },
    failed: (error) => failures.push(String(error)),
  }));
}"""

# Of a funnel all that it has, in one step.
EVENTS = "chosen => chosen.forEach((at) => names.forEach((name) => devices[at].event(name)))"

# A build that stores at the event: the same state, one more version.
WRITING_EVENTS = """chosen => Promise.all(chosen.map((at) => new Promise((done) => {
  names.forEach((name) => devices[at].event(name));
  const opening = indexedDB.open("devices-web");
  opening.onsuccess = () => {
    const writing = opening.result.transaction("states", "readwrite", { durability: "strict" });
    writing.objectStore("states").put(last[identifiers[at]]);
    writing.oncomplete = () => { opening.result.close(); done(); };
  };
})))"""


def recipes(statistic: str, count: int) -> list[PublishedRecipe]:
    """One for each device, so that the intruder can tell the devices of a profile apart."""
    servers = OneServer.of(private_key().public_key)
    asked = {"statistic": statistic, "question": "Did it happen?", "steps": 5, "epsilon": 2.0}
    asked |= ASKED[statistic]
    drafts = [
        RecipeDraft.from_mapping({**asked, "name": f"Device {at}", "delta": 1e-6, "cohort_size": 5})
        for at in range(count)
    ]
    opens_at = datetime(2026, 1, 1, tzinfo=UTC)
    admission = token_admission(attester_url=ATTESTER_URL) if asked.get("admission") else None
    return [draft.publish(servers, opens_at, simulation=True, admission=admission) for draft in drafts]


def seized(directory: Path) -> bytes:
    """All files of a directory. A running browser may have replaced one meanwhile."""
    contents = []
    for path in sorted(directory.rglob("*")):
        with suppress(FileNotFoundError):
            contents += [path.read_bytes()] if path.is_file() else []
    return b"".join(contents)


def traces(whole: bytes, identifiers: Sequence[str]) -> list[list[float]]:
    """What each device left in these files, as numbers."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for kind, pattern in enumerate(IDENTIFIERS):
        places = [(match.start(), match[0].replace(b"\0", b"").decode()) for match in pattern.finditer(whole)]
        ends = [place for place, _ in places[1:]] + [len(whole)]
        for (place, identifier), end in zip(places, ends, strict=False):
            found[identifier, kind].append((place, end))
    numbers = []
    for identifier in identifiers:
        of_device: list[float] = []
        for kind in range(len(IDENTIFIERS)):
            records = found[identifier, kind] or [(0, 0)]
            lengths = [end - place for place, end in records]
            last, end = records[-1]
            of_device += [len(found[identifier, kind]), sum(lengths), min(lengths), max(lengths), lengths[-1]]
            of_device += [records[0][0], last, last - records[0][0]]
            of_device += [*whole[max(last, end - 8) : end].ljust(8, b"\0")]
        numbers.append(of_device)
    return numbers


def advantage(known: Sequence[tuple[list[float], bool]], others: Sequence[tuple[list[float], bool]]) -> float:
    """Of the one threshold on one number that is right most often where the truth is known."""

    def right(rows: Sequence[tuple[list[float], bool]], at: int, over: float) -> float:
        return sum((numbers[at] > over) == truth for numbers, truth in rows) / len(rows)

    rules = []
    for at in range(len(known[0][0])):
        values = sorted({numbers[at] for numbers, _ in known})
        step = max(1, len(values) // 20)
        rules += [(abs(right(known, at, over) - 0.5), at, over) for over in values[::step]]
    _, at, over = max(rules)
    sign = 1 if right(known, at, over) >= 0.5 else -1
    return sign * (2 * right(others, at, over) - 1)


Lived = Callable[[Path, Sequence[PublishedRecipe], Sequence[int]], list[bytes]]
"""What the intruder gets of a profile directory: of devices of these recipes, those at the given places with
an event."""


def attacked(lived: Lived, folder: Path, statistic: str, profiles: int) -> tuple[float, float]:
    """The intruder's advantage, and how far from 0 chance alone takes it with probability `FAILURE`."""
    known, others = [], []
    devices = DEVICES[statistic]
    learned = int(LEARNED * devices)
    published = recipes(statistic, devices)
    identifiers = [recipe.identifier for recipe in published]
    for number in range(profiles):
        directory = folder / f"profile-{number}"
        truths = [secrets.randbits(1) == 1 for _ in published]
        copies = lived(directory, published, [at for at, truth in enumerate(truths) if truth])
        seen = [traces(copy, identifiers) for copy in copies]
        # The states are there to be found, in every copy.
        assert all(row[0] > 0 for rows in seen for row in rows)
        left = [list(chain.from_iterable(row)) for row in zip(*seen, strict=True)]
        rows = list(zip(left, truths, strict=True))
        # Drawn at random: a device's number is its place in the files.
        secrets.SystemRandom().shuffle(rows)
        known += rows[:learned]
        others += rows[learned:]
        shutil.rmtree(directory)
    return advantage(known, others), math.sqrt(2 * math.log(2 / FAILURE) / len(others))
