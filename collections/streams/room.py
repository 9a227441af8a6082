"""How much may be written for a stream.

Every batch has the whole state sealed under a new key and written anew, however few items are in it, and if
there is none: what changed is not to be seen, nor whether anything did. So a few bytes of a stranger's make
the database write millions, and each stream has so many in a minute. Of each process: what was written is
noted in memory, as nothing may be stored about when items came.
"""

import threading
import time
from uuid import UUID

from django.conf import settings

from streams.errors import StreamBusyError
from streams.models import Stream

MINUTE = 60.0

_lock = threading.Lock()
_left: dict[UUID, tuple[float, float]] = {}
"""Stream → bytes that were left, and when; of those that wrote within the last minute."""


def require_room(stream: Stream) -> None:
    """Count the stream's state as written once more. A state is never too large for a whole minute.

    Raises:
        StreamBusyError: not now.
    """
    most, now = float(settings.STREAM_BYTES_PER_MINUTE), time.monotonic()
    size = min(float(len(stream.state)), most)
    with _lock:
        for full in [key for key, (_, at) in _left.items() if now - at >= MINUTE]:
            del _left[full]
        left, at = _left.get(stream.id, (most, now))
        left = min(most, left + (now - at) * most / MINUTE)
        if left < size:
            raise StreamBusyError("as much was written for the stream as a minute allows")
        _left[stream.id] = (left - size, now)
