"""What operations on series refuse."""

from recipes.errors import RecipeStateError


class NotComputedError(RecipeStateError):
    """A worker must first compute what all rounds cost together. It may be tried again."""


class SeriesStateError(Exception):
    """The series is not in the state that the operation needs. The message says which."""
