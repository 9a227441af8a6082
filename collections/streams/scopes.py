"""What API tokens may be for, of streams: reading a state on purpose, which costs privacy each time."""

from streams.access import may_announce
from web.scopes import scope_declare

INTRUSIONS_ANNOUNCE = scope_declare(
    "intrusions:announce", "Announce intrusions, and see what was seen", may=may_announce
)
