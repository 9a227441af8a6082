"""Tokens of reports: whether the recipe of a task asks for them, and whether one is good.

A task without a recipe takes reports from any device, like a recipe without tokens.
"""

from collections.abc import Callable
from enum import StrEnum

from dap.models import Task
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.protocols.dap.token_extension import TOKEN, token_of
from panprivacy.protocols.dap.upload import ReportMetadata
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from panprivacy.recipe.token import INVALID, MISSING, OF_ANOTHER_RECIPE, TokenRefusedError, token_require


class TokenError(StrEnum):
    """Why a report was rejected for its token."""

    MISSING = MISSING
    INVALID = INVALID
    OF_ANOTHER_RECIPE = OF_ANOTHER_RECIPE

    @property
    def reason(self) -> str:
        """The reason under which it is counted and shown."""
        return self.value


Rejection = ReportError | TokenError
"""Why a report was rejected, as it is counted."""


def dap_error_of(rejection: Rejection) -> ReportError:
    """What DAP has for it."""
    return ReportError.INVALID_MESSAGE if isinstance(rejection, TokenError) else rejection


def public_extensions_of(task: Task) -> frozenset[int]:
    """Types of public report extensions that we know in a task: tokens, if its recipe asks for them."""
    return frozenset() if _recipe_with_tokens(task) is None else frozenset({TOKEN})


def token_check_of(task: Task) -> Callable[[ReportMetadata], TokenError | None]:
    """A function that returns why a report of the task is rejected for its token: none if any device may
    report.

    One token costs some 30 µs, far less than opening a share.
    """
    recipe = _recipe_with_tokens(task)

    def check(metadata: ReportMetadata) -> TokenError | None:
        if recipe is None:
            return None
        try:
            token_require(recipe, token_of(metadata), metadata.report_id)
        except TokenRefusedError as refusal:
            return TokenError(refusal.reason)
        return None

    return check


def _recipe_with_tokens(task: Task) -> PublishedRecipe | None:
    recipe = recipe_of(task.document) if task.document else None
    return recipe if recipe is not None and recipe.admission is not None else None
