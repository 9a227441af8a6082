"""The public part of an entry."""

import json
from typing import Any

from log.audit.models import Entry
from log.audit.registry import shown_details
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.protocols.transparency.tiles import LONGEST_ENTRY


def leaf_content(entry: Entry) -> str:
    """The entry's leaf, canonical JSON.

    `commitment` is the entry's hash: a reader of the entry can check it against the leaf, and others learn
    nothing from it. Of a public action the leaf has time, action, subject and those details that the action
    shows; never who did it.
    """
    members: dict[str, Any] = {"commitment": entry.entry_hash}
    shown = shown_details(entry.action)
    if shown is not None:
        members |= {
            "action": entry.action,
            "at": entry.at.isoformat(),
            "subject": entry.subject,
            "details": {name: entry.details[name] for name in shown if name in entry.details},
        }
    content = canonical_json(members)
    if len(content) > LONGEST_ENTRY:
        content = canonical_json({"commitment": entry.entry_hash})
    return content.decode()


def leaf_tells_of(entry: Entry, content: str) -> bool:
    """Whether a leaf of this entry, whose hash holds, states only what is in the entry.

    Which details a leaf shows, the version that wrote it decided; none may differ.
    """
    members = json.loads(content)
    details = members.pop("details", {})
    own = {
        "commitment": entry.entry_hash,
        "action": entry.action,
        "at": entry.at.isoformat(),
        "subject": entry.subject,
    }
    return (
        members.items() <= own.items()
        and isinstance(details, dict)
        and all(name in entry.details and entry.details[name] == value for name, value in details.items())
    )
