"""What the log records of a published recipe."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from log.audit.operations import entry_append
from log.audit.registry import Action
from recipes.models import Recipe


def recipe_entry_append(
    *, recipe: Recipe, action: Action, actor: AbstractBaseUser | None, details: Mapping[str, Any]
) -> None:
    """Append an entry about a published recipe, as `entry_append` does.

    Of a private simulation there is none: entries stay for good, and their hashes are public. What the log
    has of it names no recipe (`simulations.actions`).
    """
    if not recipe.private:
        entry_append(action=action, subject=str(recipe.identifier), actor=actor, details=details)
