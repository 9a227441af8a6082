"""The product's settings, helper and shuffler beside the site: tests of all sides run in one process."""

from panapp.settings import *  # noqa: F403
from panapp.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "helper", "shuffler"]

PASSWORD_HASHERS = ["tests.hashers.FewRounds", "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher"]

# Each test client would list all static files anew, which takes a tenth of a second.
WHITENOISE_AUTOREFRESH = True
