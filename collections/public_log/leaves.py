"""What everybody sees of an entry."""

import json
from typing import Any

import rfc8785

from audit.models import Entry
from audit.registry import shown_details
from panprivacy.transparency.tiles import LONGEST_ENTRY


def leaf_content(entry: Entry) -> str:
    """The entry's leaf, canonical JSON.

    `commitment` is the entry's hash: who is shown the entry can check it against the leaf, and nobody else
    learns anything from it. Of a public action the leaf has time, action, subject and those details that the
    action shows; never who did it.
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
    content = rfc8785.dumps(members)
    if len(content) > LONGEST_ENTRY:
        content = rfc8785.dumps({"commitment": entry.entry_hash})
    return content.decode()


def leaf_tells_of(entry: Entry, content: str) -> bool:
    """Whether a leaf of this entry, whose hash holds, says nothing but what stands in the entry.

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
