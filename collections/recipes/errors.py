"""Why an operation on a recipe was refused; nothing was changed then."""


class RecipeStateError(ValueError):
    """The recipe is not in the state that the operation requires."""


class UnreadableRecipeError(RecipeStateError):
    """The document of a published recipe cannot be read here: another version may have published it."""


class ApprovalNeededError(RecipeStateError):
    """Publishing it needs the approval of another analyst."""


class PartnerUnavailableError(RecipeStateError):
    """A helper or a shuffler did not answer, or not so that it could be believed. It may be tried again."""
