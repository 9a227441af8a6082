"""Settings, all from the environment; docs/operations.md describes each variable.

PANAPP_MODE is `local` (default: answers to this machine only, with secrets made on
first use) or `production` (every secret and service must be given).
"""

from pathlib import Path

import dj_database_url
import plotly
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Exchange, Queue

from panapp import environment
from panapp.logging import LOGGING as LOGGING

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(environment.text("PANAPP_DATA_DIR", str(BASE_DIR / "var")))

MODE = environment.text("PANAPP_MODE", "local")
if MODE not in {"local", "production"}:
    raise ImproperlyConfigured(f"PANAPP_MODE must be local or production, not {MODE!r}")
LOCAL = MODE == "local"

DEBUG = LOCAL and environment.flag("PANAPP_DEBUG", default=False)

if LOCAL:
    _secrets = environment.local_secrets(DATA_DIR / "local-secrets.json")
    ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
else:
    _secrets = {
        "secret_key": environment.long_text("PANAPP_SECRET_KEY", minimum=50),
        "signing_key": environment.text("PANAPP_SIGNING_KEY"),
        "key_encryption_key": environment.text("PANAPP_KEY_ENCRYPTION_KEY"),
    }
    environment.text("PANAPP_ALLOWED_HOSTS")
    ALLOWED_HOSTS = environment.words("PANAPP_ALLOWED_HOSTS")

SECRET_KEY = _secrets["secret_key"]
SIGNING_KEY = environment.key_of_32_bytes("PANAPP_SIGNING_KEY", _secrets["signing_key"])
KEY_ENCRYPTION_KEY = environment.key_of_32_bytes("PANAPP_KEY_ENCRYPTION_KEY", _secrets["key_encryption_key"])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "axes",
    "django_prometheus",
    "audit",
    "dap",
    "leader",
    "helper",
    "ledger",
    "recipes",
    "planner",
    "reports",
    "aggregation",
    "releases",
    "panapp",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "panapp.errors.CommonMiddleware",
    "panapp.plain_query.PlainQueryMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "audit.actor.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "axes.middleware.AxesMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "panapp.urls"
WSGI_APPLICATION = "panapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "audit.access.log_access",
            ]
        },
    }
]

# Database ----------------------------------------------------------------------

_sqlite = f"sqlite:///{DATA_DIR / 'panapp.sqlite3'}"
DATABASES = {"default": dj_database_url.parse(environment.text("DATABASE_URL", _sqlite if LOCAL else None))}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # Writers queue at BEGIN instead of failing in mid-transaction.
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        # 4 MB of cache per connection, so that memory does not follow the number of reports.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-4000;",
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 60
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Sign-in -----------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "overview"
# Counts of failures live in the cache and end with it: no address or user agent is stored.
AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
AXES_ENABLE_ADMIN = False
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
# Whoever knows a name could else keep it locked for good by knocking on.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address"]

# Shared by all web processes; a local installation has just one.
_cache = (
    {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if LOCAL
    else {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": environment.text("PANAPP_CACHE_URL", environment.text("CELERY_BROKER_URL")),
    }
)
CACHES = {
    "default": _cache,
    # Apart from the counts of failed sign-ins, which a local cache would drop to make room for numbers.
    "composed": {
        **_cache,
        **(
            {"LOCATION": "composed", "OPTIONS": {"MAX_ENTRIES": 10_000}}
            if LOCAL
            else {"KEY_PREFIX": "composed"}
        ),
        "TIMEOUT": 30 * 86_400,
    },
    # Results of planning, which workers write and web processes read. In files, old ones make room.
    "plans": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "plans",
        "OPTIONS": {"MAX_ENTRIES": 500},
    }
    if LOCAL
    else {**_cache, "KEY_PREFIX": environment.text("PANAPP_QUEUE", "panapp")},
}

# Security ----------------------------------------------------------------------

_https = environment.flag("PANAPP_HTTPS", default=not LOCAL)
SECURE_SSL_REDIRECT = _https
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 12 * 3600
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "panapp.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = environment.words("PANAPP_CSRF_TRUSTED_ORIGINS")
if environment.flag("PANAPP_BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

METRICS_TOKEN = environment.token("PANAPP_METRICS_TOKEN")

# Tasks -------------------------------------------------------------------------

CELERY_BROKER_URL = environment.text("CELERY_BROKER_URL", "redis://127.0.0.1:6379/0" if LOCAL else None)
# Installations that share a broker need queues of their own: a worker must see its own database.
CELERY_TASK_DEFAULT_QUEUE = environment.text("PANAPP_QUEUE", "panapp")
# The periodic task has a queue that workers look into first: a backlog of chunks must not hold up
# the closing and release of other recipes.
ADVANCE_QUEUE = f"{CELERY_TASK_DEFAULT_QUEUE}-advance"
# Plans come last: anyone may ask for them, and no collection must wait for that.
PLAN_QUEUE = f"{CELERY_TASK_DEFAULT_QUEUE}-plans"
CELERY_TASK_QUEUES = [
    # An exchange each: whoever deletes a queue leaves nothing of it on the broker.
    Queue(name, Exchange(name, "direct"), routing_key=name)
    for name in (ADVANCE_QUEUE, CELERY_TASK_DEFAULT_QUEUE, PLAN_QUEUE)
]
CELERY_TASK_ROUTES = {
    "releases.tasks.advance_collections": {"queue": ADVANCE_QUEUE},
    "planner.tasks.compute_plan": {"queue": PLAN_QUEUE},
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 300
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "queue_order_strategy": "priority",
    # Above the hard time limit; the last two bring a lost task back within seconds.
    "visibility_timeout": 360,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
ADVANCE_SECONDS = environment.whole_number("PANAPP_ADVANCE_SECONDS", 2, minimum=1)
CELERY_BEAT_SCHEDULE = {
    "advance-collections": {
        "task": "releases.tasks.advance_collections",
        "schedule": float(ADVANCE_SECONDS),
        # A backlog of ticks would do nothing that the next one does not do.
        "options": {"expires": 10 * ADVANCE_SECONDS},
    }
}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")

CHUNK_REPORTS = environment.whole_number("PANAPP_CHUNK_REPORTS", 2_000, minimum=1)
CHUNK_STALE_SECONDS = environment.whole_number("PANAPP_CHUNK_STALE_SECONDS", 60, minimum=1)

# Pages and API -----------------------------------------------------------------

STATIC_URL = "static/"
# A local installation serves static files from where they lie; only production collects them.
STATIC_ROOT = None if LOCAL else Path(environment.text("PANAPP_STATIC_ROOT", str(DATA_DIR / "static")))
STATICFILES_DIRS = [
    ("vendor/plotly", Path(plotly.__file__).parent / "package_data"),
]
WHITENOISE_USE_FINDERS = LOCAL
if not LOCAL:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_THOUSAND_SEPARATOR = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "recipes.problems.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Private telemetry: device API",
    "DESCRIPTION": "Public recipes, and the reports that devices send.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["reports.openapi.add_report_paths", "recipes.openapi.add_problem_responses"],
}
# A local installation has one web process, so that its counts of failures need not be shared.
SILENCED_SYSTEM_CHECKS = ["axes.W001"] if LOCAL else []
