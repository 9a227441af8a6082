"""Why a stream could not be read or changed; nothing was changed then."""


class StreamClosedError(ValueError):
    """The stream takes no items now, or no more."""


class StreamBusyError(RuntimeError):
    """As much was written for this stream as a minute allows. It takes items again soon."""


class StreamLostError(RuntimeError):
    """The key of the state or estimate is not where it should be. Without it nobody can read either."""


class NotEstimatedError(RuntimeError):
    """No estimate of the stream was drawn."""


class IntrusionRefusedError(ValueError):
    """No intrusion can be announced; the message says why, as a clause."""
