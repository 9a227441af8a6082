"""What operations on series refuse."""


class SeriesStateError(Exception):
    """The series is not in the state that the operation needs. The message states which."""
