"""What the database refuses in this app's tables."""

from storage.append_only import Guard

ANNOUNCED = Guard(
    "streams_announcedintrusion",
    "announced",
    "an announced intrusion cannot be taken back",
    key="id",
)
GUARDS = (ANNOUNCED,)
