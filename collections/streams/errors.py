"""Why a stream could not be read or changed; nothing was changed then."""


class StreamClosedError(ValueError):
    """The stream takes no items now, or no more."""


class StreamLostError(RuntimeError):
    """The key of the state or estimate is not where it should be. Without it nobody can read either."""


class NotEstimatedError(RuntimeError):
    """No estimate of the stream was drawn."""


class KeysNotErasedError(RuntimeError):
    """Keys of older states are left, in files that could not be read or written."""


class IntrusionRefusedError(ValueError):
    """No intrusion can be announced; the message says why, as a clause."""
