"""The product's settings, and partners next to the site: tests of all sides run in one process."""

from panapp.settings import *  # noqa: F403  # the product's own, but for what follows
from panapp.settings import CACHES as _CACHES
from panapp.settings import INSTALLED_APPS as _APPS
from panapp.settings import STORAGES as _STORAGES

INSTALLED_APPS = [
    *_APPS,
    "dap.helper",
    "joint_key.helper",
    "tokens.issuer",
    "shuffle.shuffler",
    "tokens.attester",
]

PASSWORD_HASHERS = ["tests.hashers.FewRounds", "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher"]

# Each process of the tests has numbers of its own, and what a test clears is gone.
CACHES = {
    **_CACHES,
    "composed": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "composed"},
}

# Tests serve static files from where they lie. Each test client would list all of them anew, which takes a
# tenth of a second.
STORAGES = {**_STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
