"""Fixtures of notifications."""

from tests.collections.notifications.conftest import site  # noqa: F401  # fixtures
