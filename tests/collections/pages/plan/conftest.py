"""Fixtures of the planner."""

from tests.collections.recipes.planner.conftest import few_points, sent  # noqa: F401  # fixtures
