"""Why a stream could not be read or changed; nothing was changed then."""


class StreamClosedError(ValueError):
    """The stream takes no items at present, or has ended."""


class StreamBusyError(RuntimeError):
    """As much was written for this stream as a minute allows. It takes items again soon."""


class StreamLostError(RuntimeError):
    """The key of the state or estimate is not where it should be. Without it neither can be read."""


class NotEstimatedError(RuntimeError):
    """No estimate of the stream was drawn."""


class IntrusionRefusedError(ValueError):
    """No intrusion can be announced; the message states why, as a clause."""
