"""What API tokens may be for, of recipes. What is published needs none, because it is public."""

from recipes.access import may_publish
from web.scopes import scope_declare

RECIPES_READ = scope_declare("recipes:read", "Read drafts, and what publishing would do", may=may_publish)
RECIPES_WRITE = scope_declare(
    "recipes:write",
    "Draft, publish and close recipes, and withhold their results",
    may=may_publish,
    includes=(RECIPES_READ,),
)
RECIPES_APPROVE = scope_declare(
    "recipes:approve",
    "Approve or decline what others want to publish",
    may=may_publish,
    includes=(RECIPES_READ,),
)
