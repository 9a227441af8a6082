"""How much may be written for a stream.

Every batch has the whole state sealed under a new key and written anew, even if there are few items in it or
none: an observer must not see what changed, nor whether anything did. So a few bytes from any client make the
database write millions, and each stream may write a limited number in a minute. The limit is per process:
what was written is counted in memory, because nothing may be stored about when items came.
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
        StreamBusyError: not at present.
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
