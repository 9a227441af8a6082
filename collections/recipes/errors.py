"""Why an operation on a recipe was refused; nothing was changed then."""


class RecipeStateError(ValueError):
    """The recipe is not in the state that the operation requires."""


class HelperUnavailableError(RecipeStateError):
    """The helper did not answer, or not so that it could be believed. The same may be tried again."""
