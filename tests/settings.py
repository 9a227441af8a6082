"""The product's settings, and the helper beside the leader: tests of both sides run in one process."""

from panapp.settings import *  # noqa: F403
from panapp.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "helper"]
