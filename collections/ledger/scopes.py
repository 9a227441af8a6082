"""What API tokens may be for, of populations. Reading needs none."""

from ledger.access import may_change_populations
from web.scopes import scope_declare

POPULATIONS_WRITE = scope_declare(
    "populations:write", "Make populations and set their budgets", may=may_change_populations
)
