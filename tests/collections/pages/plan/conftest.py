"""Fixtures of the planner."""

from tests.collections.recipes.planner.conftest import few_points, no_time, plans_of_this_test, sent  # noqa: F401  # fixtures
