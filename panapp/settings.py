"""Settings, all from the environment; docs/operations/settings.md describes each variable.

PANAPP_MODE is `local` (default: answers to this machine only, with secrets made on first use) or `production`
(every secret and service must be given). PANAPP_ROLE sets what the installation is for (roles.py),
PANAPP_PROCESS which of its processes this one is (process_kinds.py).
"""

import os
from pathlib import Path
from urllib.parse import quote

import dj_database_url
import plotly
from csp.constants import NONCE, NONE, SELF

from accounts.oidc.configuration import Organization
from dap import limits as dap_limits
from panapp import environment, installation
from panapp.logging import LOGGING as LOGGING
from panapp.process_kinds import SEALING, SECRET, SIGNING, process_kind_named
from panapp.ticks import every
from panprivacy.planning.limits import NO_DELTA_LIMIT, NO_LIMIT, NO_LOCAL_LIMIT
from storage.local_secrets import key_of_32_bytes
from storage.queues import QueueNames

BASE_DIR = installation.BASE_DIR

ROLE = installation.role()
ROLE.check_required(os.environ)
DATA_DIR = installation.data_directory()
LOCAL = installation.is_local()
PROCESS = process_kind_named(environment.text("PANAPP_PROCESS"))

DEBUG = LOCAL and environment.flag("PANAPP_DEBUG")

# Settings that this process was not given are empty, and code that uses them is refused.
SECRET_KEY = ""
SIGNING_KEY = b""
KEY_ENCRYPTION_KEY = b""
if LOCAL:
    ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
    _own_secrets = installation.own_secrets()
else:
    PROCESS.refuse_keys(os.environ)
    environment.text("PANAPP_ALLOWED_HOSTS")
    ALLOWED_HOSTS = environment.words("PANAPP_ALLOWED_HOSTS")
if SECRET in PROCESS.keys:
    SECRET_KEY = (
        _own_secrets["secret_key"] if LOCAL else environment.long_text("PANAPP_SECRET_KEY", minimum=50)
    )
if SIGNING in PROCESS.keys:
    SIGNING_KEY = installation.signing_key()
if SEALING in PROCESS.keys:
    KEY_ENCRYPTION_KEY = key_of_32_bytes(
        "PANAPP_KEY_ENCRYPTION_KEY",
        _own_secrets["key_encryption_key"] if LOCAL else environment.text("PANAPP_KEY_ENCRYPTION_KEY"),
    )

INSTALLED_APPS = list(ROLE.apps)
MIDDLEWARE = list(ROLE.middleware)
ROOT_URLCONF = ROLE.urlconf
WSGI_APPLICATION = "panapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": list(ROLE.context_processors),
            # How numbers and names are shown, in every role: it needs no app, and no database.
            "libraries": {"presentation": "pages.templatetags.presentation"},
        },
    }
]

# Database ----------------------------------------------------------------------

_sqlite = f"sqlite:///{quote(str(DATA_DIR / 'panapp.sqlite3'))}"
DATABASES = {"default": dj_database_url.parse(environment.text("DATABASE_URL", _sqlite if LOCAL else None))}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # Writers queue at BEGIN instead of failing in mid-transaction.
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        # 4 MB of cache per connection, so that memory does not follow the number of reports. What is
        # deleted is overwritten, by every connection: rows move between pages when others are stored,
        # too. The log has up to 40 MB until it is copied into the database: nonces come in no order, so
        # every batch of reports changes most of their pages.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-4000; "
        "PRAGMA secure_delete=ON; PRAGMA wal_autocheckpoint=10000;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"]["CONN_MAX_AGE"] = 60
    if PROCESS.threads:
        # Threads take turns, so that their number is not that of the connections.
        DATABASES["default"]["CONN_MAX_AGE"] = 0
        # Skips lost connections at once, whereas the pool's own check waits after each.
        DATABASES["default"]["ENGINE"] = "storage.postgresql"
        DATABASES["default"]["CONN_HEALTH_CHECKS"] = False
        DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
            "min_size": 0,
            "max_size": environment.whole_number("PANAPP_DATABASE_CONNECTIONS", minimum=1),
            "timeout": 5,
            # Then the next who asks tries anew, rather than ever more rarely.
            "reconnect_timeout": 5,
        }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Sign-in -----------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "accounts.sign_in.SharingBackend"]
PASSWORD_HASHERS = ["accounts.hashing.SharingPasswordHasher"]
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
# Which accounts are asked for a code in addition to the password (accounts.second_factor.selectors).
SECOND_FACTOR = environment.choice("PANAPP_SECOND_FACTOR", ("off", "optional", "administrators", "required"))
# The organization's OpenID provider; None: people sign in with passwords of this site only.
_issuer = environment.issuer(
    "PANAPP_OIDC_ISSUER",
    secure=not LOCAL,
    needed_by=("PANAPP_OIDC_CLIENT_ID", "PANAPP_OIDC_CLIENT_SECRET", "PANAPP_OIDC_ROLES"),
)
OIDC = (
    None
    if _issuer is None or not PROCESS.signs_in
    else Organization(
        issuer=_issuer,
        client_id=environment.printable("PANAPP_OIDC_CLIENT_ID"),
        client_secret=environment.printable("PANAPP_OIDC_CLIENT_SECRET"),
        groups_claim=environment.printable("PANAPP_OIDC_GROUPS_CLAIM"),
        roles=environment.roles("PANAPP_OIDC_ROLES"),
    )
)
# Counts of failures live in the cache and end with it: no address or user agent is stored.
AXES_HANDLER = "web.failed_sign_ins.FailedSignIns"
AXES_ENABLE_ADMIN = False
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
# Otherwise an attacker who knows a name could keep it locked for ever by further attempts.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address"]

# Shared by all web processes; a local installation has just one, and a helper remembers nothing there.
# What is shared runs nothing that it reads (storage.caches); into memory only the process itself writes.
_one_process = LOCAL or not ROLE.tasks
CELERY_BROKER_URL = environment.text("CELERY_BROKER_URL", local=_one_process or not PROCESS.broker)
_cache = (
    {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if _one_process
    else {
        "BACKEND": "storage.caches.AuthenticatedRedisCache",
        "LOCATION": environment.text("PANAPP_CACHE_URL", CELERY_BROKER_URL),
    }
)
CACHES = {
    "default": _cache,
    # Numbers of the ledger, apart from the counts of failed sign-ins, which a full cache would drop.
    "composed": {
        **(
            {
                "BACKEND": "storage.caches.AuthenticatedFileCache",
                "LOCATION": DATA_DIR / "composed",
                "OPTIONS": {"MAX_ENTRIES": 10_000},
            }
            if _one_process
            else {**_cache, "KEY_PREFIX": "composed"}
        ),
        "TIMEOUT": 30 * 86_400,
    },
}

# Security ----------------------------------------------------------------------

_https = environment.flag("PANAPP_HTTPS", local=LOCAL)
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
CSRF_FAILURE_VIEW = f"{ROLE.errors}.csrf_failure"
CSRF_TRUSTED_ORIGINS = environment.words("PANAPP_CSRF_TRUSTED_ORIGINS")
if environment.flag("PANAPP_BEHIND_PROXY"):
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
# No form has files. They count to no limit of bodies, and would be written to the disk before any view reads
# them.
DATA_UPLOAD_MAX_NUMBER_FILES = 0

# Keys of streams' states: on this host only, and in no backup (docs/operations/install.md, "Streams").
STREAM_KEYS_DIR = Path(environment.text("PANAPP_STREAM_KEYS_DIR", str(DATA_DIR / "stream-keys")))
# Bytes of a stream's states that each process writes in a minute, at most.
STREAM_BYTES_PER_MINUTE = environment.whole_number("PANAPP_STREAM_BYTES_PER_MINUTE", minimum=1)

# Keys without which no sealed secret of the database opens: as the former.
ERASABLE_KEYS_DIR = Path(environment.text("PANAPP_ERASABLE_KEYS_DIR", str(DATA_DIR / "erasable-keys")))
# The PKCS#11 token that has them instead, which many hosts share; None: files in that directory.
KEY_TOKEN = environment.key_token("PANAPP_KEY_SERVICE")
KEY_TOKEN_PIN = environment.pin("PANAPP_KEY_SERVICE_PIN", needed=KEY_TOKEN is not None and PROCESS.erases)

# Object store for reports of newly published recipes with one server; empty: they are in the database.
OBJECT_STORE = environment.report_store("PANAPP_REPORT_STORE", local=LOCAL)

METRICS_TOKEN = environment.token("PANAPP_METRICS_TOKEN")

# Two servers -------------------------------------------------------------------

# Base addresses of the resources of DAP, our own and the other's; None if the role has no use for it.
LEADER_URL = environment.address("PANAPP_LEADER_URL", path="/leader", secure=_https)
HELPER_URL = environment.address("PANAPP_HELPER_URL", path="/helper", secure=_https)
# Ed25519 verification keys of the other side, 32 bytes.
HELPER_KEY = environment.verification_key("PANAPP_HELPER_KEY", own=SIGNING_KEY)
LEADER_KEY = environment.verification_key("PANAPP_LEADER_KEY", own=SIGNING_KEY)
# Base addresses of partners that speak the dialect of Janus: only their tasks use bearer tokens.
JANUS_PARTNERS = environment.partners("PANAPP_JANUS_PARTNERS", secure=_https)
# No recipe for real devices is published beyond these. Helpers and shufflers refuse smaller cohorts, too.
LARGEST_EPSILON = environment.number("PANAPP_LARGEST_EPSILON", most=NO_LIMIT, local=LOCAL)
LARGEST_LOCAL_EPSILON = environment.number("PANAPP_LARGEST_LOCAL_EPSILON", most=NO_LOCAL_LIMIT, local=LOCAL)
LARGEST_DELTA = environment.number("PANAPP_LARGEST_DELTA", most=NO_DELTA_LIMIT, local=LOCAL)
SMALLEST_COHORT = environment.whole_number("PANAPP_SMALLEST_COHORT", minimum=2, local=LOCAL)
# Whether every recipe for real devices needs the approval of another analyst; otherwise only those of
# populations that require it.
FOUR_EYES = environment.choice("PANAPP_FOUR_EYES", ("off", "on")) == "on"
# Gateways to which a relay passes capsules: base addresses by the names that stand in its own.
RELAY_GATEWAYS = environment.addresses("PANAPP_RELAY_GATEWAYS", secure=_https)
# Origins whose pages may be devices: browsers let them read what devices ask.
DEVICE_ORIGINS = environment.origins("PANAPP_DEVICE_ORIGINS", secure=_https)
# Below which programs ask: errors are problem documents there, and pages elsewhere.
PROGRAM_ADDRESSES = ("/api/", "/leader/", "/witness/", "/.well-known/")
# What requests in capsules may ask, by the names of addresses.
OBLIVIOUS_ADDRESSES = frozenset(ROLE.oblivious)
# For how long a key to which clients seal is kept after it was last handed out. Clients may keep what they
# were handed out for half as long: below an hour they would hardly do anything but ask.
HPKE_GRACE_SECONDS = environment.seconds("PANAPP_HPKE_GRACE_SECONDS", minimum=2 * 3_600)
# Base address of the resources of a shuffler, and the Ed25519 verification keys of either side of it.
SHUFFLER_URL = environment.address("PANAPP_SHUFFLER_URL", path="/shuffler", secure=_https)
SHUFFLER_KEY = environment.verification_key("PANAPP_SHUFFLER_KEY", own=SIGNING_KEY)
ANALYZER_KEY = environment.verification_key("PANAPP_ANALYZER_KEY", own=SIGNING_KEY)
# Base addresses of an issuer of tokens and of its attester, and the Ed25519 keys of all who speak with them.
ISSUER_URL = environment.address("PANAPP_ISSUER_URL", path="/issuer", secure=_https)
ISSUER_KEY = environment.verification_key("PANAPP_ISSUER_KEY", own=SIGNING_KEY)
ATTESTER_URL = environment.address("PANAPP_ATTESTER_URL", path="/attester", secure=_https)
ATTESTER_KEY = environment.verification_key("PANAPP_ATTESTER_KEY", own=SIGNING_KEY)
SITE_KEY = environment.verification_key("PANAPP_SITE_KEY", own=SIGNING_KEY)
_KEYS = {
    "helper": HELPER_KEY,
    "leader": LEADER_KEY,
    "shuffler": SHUFFLER_KEY,
    "analyzer": ANALYZER_KEY,
    "issuer": ISSUER_KEY,
    "attester": ATTESTER_KEY,
    "site": SITE_KEY,
}
# Partners that this installation knows: the public log records them.
PARTNER_KEYS = {name: key for name, key in _KEYS.items() if key is not None}
# This site's address for devices, through a relay.
RELAY_URL = environment.relay_address("PANAPP_RELAY_URL", secure=_https)
# Bytes of all ciphertexts of a batch, at most: a shuffler mixes them in memory, and needs thrice as much.
BATCH_BYTES = environment.whole_number("PANAPP_BATCH_BYTES", minimum=1024 * 1024)
# How an attester knows devices, the header into which its proxy writes the subject of a device's certificate,
# and how often a device may ask in an hour.
ATTESTATION = environment.attestation("PANAPP_ATTESTATION", local=LOCAL)
MTLS_HEADER = environment.header("PANAPP_MTLS_HEADER", needed=ATTESTATION == "mtls")
DEVICE_REQUESTS = environment.whole_number("PANAPP_DEVICE_REQUESTS", minimum=1)
# Reports that a helper takes in one request; fewer than leaders send would keep their jobs waiting.
JOB_REPORTS = environment.whole_number("PANAPP_JOB_REPORTS", minimum=dap_limits.JOB_REPORTS)
# For how long a helper keeps the keys of a task whose time is over and that was not ended.
TASK_RETENTION_SECONDS = environment.seconds("PANAPP_TASK_RETENTION_SECONDS", minimum=86_400)

# Tasks -------------------------------------------------------------------------

# Installations that share a broker need queues of their own: a worker must see its own database.
CELERY_TASK_DEFAULT_QUEUE = environment.text("PANAPP_QUEUE")
_queue_names = QueueNames.of(CELERY_TASK_DEFAULT_QUEUE)
ADVANCE_QUEUE = _queue_names.advance
COLLECTION_QUEUE = _queue_names.collections
HELPER_QUEUE = _queue_names.helper
SHUFFLER_QUEUE = _queue_names.shuffler
PARTNER_QUEUE = _queue_names.partners
NOTIFICATION_QUEUE = _queue_names.notifications
NUMBER_QUEUE = _queue_names.numbers
PLAN_QUEUE = _queue_names.plans
PREVIEW_QUEUE = _queue_names.previews
SIMULATION_QUEUE = _queue_names.simulations
CELERY_TASK_QUEUES = _queue_names.queues()
CELERY_TASK_ROUTES = {
    "results.tasks.advance_collections": {"queue": ADVANCE_QUEUE},
    "results.tasks.advance_collection": {"queue": COLLECTION_QUEUE},
    "results.aggregation.tasks.delete_ended_segments": {"queue": ADVANCE_QUEUE},
    "series.tasks.advance_series": {"queue": PARTNER_QUEUE},
    "tokens.admission.tasks.tell_issuers": {"queue": PARTNER_QUEUE},
    "dap.leader.tasks.advance_tasks": {"queue": ADVANCE_QUEUE},
    "dap.leader.tasks.drive_*": {"queue": HELPER_QUEUE},
    "dap.leader.tasks.call_off_registrations": {"queue": HELPER_QUEUE},
    "joint_key.leader.tasks.advance_sums": {"queue": ADVANCE_QUEUE},
    "joint_key.leader.tasks.drive_sum": {"queue": HELPER_QUEUE},
    "shuffle.analyzer.tasks.advance_fetches": {"queue": ADVANCE_QUEUE},
    "shuffle.analyzer.tasks.drive_fetch": {"queue": SHUFFLER_QUEUE},
    "storage.answers.tasks.answer_question": {"queue": NUMBER_QUEUE},
    "storage.answers.tasks.answer_plan": {"queue": PLAN_QUEUE},
    "storage.answers.tasks.answer_preview": {"queue": PREVIEW_QUEUE},
    "storage.answers.tasks.answer_quick_plan": {"queue": PREVIEW_QUEUE},
    "storage.answers.tasks.delete_old_answers": {"queue": ADVANCE_QUEUE},
    "simulations.tasks.advance_simulations": {"queue": ADVANCE_QUEUE},
    "simulations.tasks.advance_simulated_series": {"queue": PARTNER_QUEUE},
    "simulations.tasks.simulate_devices": {"queue": SIMULATION_QUEUE},
    "notifications.tasks.advance_notifications": {"queue": ADVANCE_QUEUE},
    "notifications.tasks.watch_collections": {"queue": ADVANCE_QUEUE},
    "notifications.tasks.deliver": {"queue": NOTIFICATION_QUEUE},
    "log.public_log.tasks.integrate_entries": {"queue": ADVANCE_QUEUE},
    "log.public_log.tasks.ask_witnesses": {"queue": NOTIFICATION_QUEUE},
    "streams.tasks.erase_old_keys": {"queue": ADVANCE_QUEUE},
    "storage.tasks.erase_unneeded_keys": {"queue": ADVANCE_QUEUE},
    "storage.tasks.truncate_log": {"queue": ADVANCE_QUEUE},
    "partners.ohttp.gateway.tasks.expire_keys": {"queue": ADVANCE_QUEUE},
}
# Never pickle, which can run code: an attacker with access to the broker can only send tasks with plain
# values.
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_EVENT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 300
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "queue_order_strategy": "storage.queues:FairTurns",
    # Above the hard time limit; the last two bring a lost task back within seconds.
    "visibility_timeout": 360,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
ADVANCE_SECONDS = environment.number("PANAPP_ADVANCE_SECONDS", most=3_600)
_PERIODIC_SECONDS = {
    "results.tasks.advance_collections": ADVANCE_SECONDS,
    "results.aggregation.tasks.delete_ended_segments": 60,
    "series.tasks.advance_series": ADVANCE_SECONDS,
    "dap.leader.tasks.advance_tasks": ADVANCE_SECONDS,
    "simulations.tasks.advance_simulations": ADVANCE_SECONDS,
    "simulations.tasks.advance_simulated_series": ADVANCE_SECONDS,
    "notifications.tasks.advance_notifications": ADVANCE_SECONDS,
    "notifications.tasks.watch_collections": 60,
    "dap.leader.tasks.call_off_registrations": 600,
    "streams.tasks.erase_old_keys": 60,
    "storage.tasks.erase_unneeded_keys": 60,
    "storage.tasks.drop_partitions": 60,
    "storage.tasks.truncate_log": 60,
    "storage.answers.tasks.delete_old_answers": 60,
    "partners.ohttp.gateway.tasks.expire_keys": 60,
    "shuffle.analyzer.tasks.advance_fetches": ADVANCE_SECONDS,
    "joint_key.leader.tasks.advance_sums": ADVANCE_SECONDS,
    "tokens.admission.tasks.tell_issuers": ADVANCE_SECONDS,
    "log.public_log.tasks.integrate_entries": ADVANCE_SECONDS,
    "log.public_log.tasks.ask_witnesses": 5,
}
# If this is off, this installation publishes no rounds of series: commands that simulate devices set it so.
if not environment.flag("PANAPP_ASK_ROUNDS"):
    del _PERIODIC_SECONDS["series.tasks.advance_series"]
CELERY_BEAT_SCHEDULE = {
    task: {"task": task, "schedule": every(seconds)} for task, seconds in _PERIODIC_SECONDS.items()
}
CELERY_BEAT_SCHEDULER = "panapp.ticks:TickScheduler"

CHUNK_REPORTS = environment.whole_number("PANAPP_CHUNK_REPORTS", minimum=1)
# Chunks of one recipe that are with workers or on their way to them: the share of the workers that one recipe
# can hold while others wait.
RECIPE_CHUNKS = environment.whole_number("PANAPP_RECIPE_CHUNKS", minimum=1)
CHUNK_STALE_SECONDS = environment.seconds("PANAPP_CHUNK_STALE_SECONDS", minimum=1)
# This site's own REST API, to which simulated devices report and notifications link; None: no simulations, no
# notifications.
SITE_URL = environment.address("PANAPP_SITE_URL", path="", secure=_https)

# Whether visitors may let their browser be a device of a simulated recipe, at /try/ (simulations.tries).
TRY = environment.flag("PANAPP_TRY")

# Name of this installation's public log, for good once the log has begun.
LOG_ORIGIN = environment.log_origin("PANAPP_LOG_ORIGIN", signing_key=SIGNING_KEY)
# Whose logs this installation is a witness of, by their verifier keys.
WITNESSED_LOGS = environment.verifier_keys("PANAPP_WITNESSED_LOGS")
# Witnesses that must have signed a checkpoint of our own log, and their addresses: a file (C2SP,
# tlog-policy).
LOG_POLICY = environment.log_policy("PANAPP_LOG_POLICY")

# Notifications -----------------------------------------------------------------

# Private networks to which webhooks may go all the same, and the ports.
WEBHOOK_NETWORKS = environment.networks("PANAPP_WEBHOOK_NETWORKS")
WEBHOOK_PORTS = environment.ports("PANAPP_WEBHOOK_PORTS")
# The sender of mails; empty: none are sent. Only processes that send them are given the server.
EMAIL_FROM = environment.mail_sender("PANAPP_EMAIL_FROM")
EMAIL_TIMEOUT = 10
if EMAIL_FROM and PROCESS.notifies:
    _mail = environment.mail_server("PANAPP_EMAIL_URL", local=LOCAL)
    EMAIL_HOST, EMAIL_PORT = _mail.host, _mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
    EMAIL_USE_SSL, EMAIL_USE_TLS = _mail.tls == "implicit", _mail.tls == "starttls"
# The text of mails.
LETTERS = "pages.words.letters"
# The collector that is sent public results as metrics; empty: none. Only processes that send them are given
# its headers, which may be a secret.
OTLP_ENDPOINT = environment.collector("PANAPP_OTLP_ENDPOINT", needed_by="PANAPP_OTLP_HEADERS")
OTLP_HEADERS = environment.headers("PANAPP_OTLP_HEADERS")

# Pages and API -----------------------------------------------------------------

STATIC_URL = "static/"
# A local installation collects them by itself (static_files.py), once for all data directories.
_static = (
    BASE_DIR / "var" / "static" / ("site" if ROLE.tasks else "partner") if LOCAL else DATA_DIR / "static"
)
STATIC_ROOT = Path(environment.text("PANAPP_STATIC_ROOT", str(_static)))
STATICFILES_DIRS = [
    # Partners' pages have no charts.
    *([("vendor/plotly", Path(plotly.__file__).parent / "package_data")] if ROLE.tasks else []),
    *(BASE_DIR / folder for folder in ROLE.static_folders),
]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    *(["pages.web_build.WebBuildFinder"] if ROLE.tasks else []),
]
WHITENOISE_USE_FINDERS = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Named by their hashes, so that browsers keep them for good.
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_THOUSAND_SEPARATOR = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.api_tokens.authentication.TokenAuthentication",
        "accounts.api_tokens.authentication.SessionAuthentication",
    ],
    # A view without declared permissions is refused to all.
    "DEFAULT_PERMISSION_CLASSES": ["accounts.api_tokens.permissions.ScopePermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "web.openapi.ApiSchema",
    "EXCEPTION_HANDLER": "web.api_problems.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Private telemetry: API",
    "DESCRIPTION": "Public recipes and results, the reports that devices send, and what analysts and "
    "administrators do, with an API token or the session of the pages.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # `nullable` states it. A component of its own would have no type, and generated programs would not load.
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
}
# A local installation has one web process, so that its counts of failures need not be shared.
SILENCED_SYSTEM_CHECKS = ["axes.W001"] if LOCAL else []
