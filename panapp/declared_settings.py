"""Every variable of the environment that is a setting: what it means, and its default.

`environment.py` reads only variables that are declared here, and takes their defaults from here. `make
tables` makes the table of docs/operations/settings.md from the same rows.
"""

from dataclasses import dataclass

from panapp.roles import ROLES
from panprivacy.planning.limits import NO_DELTA_LIMIT, NO_LIMIT, NO_LOCAL_LIMIT, USUAL


@dataclass(frozen=True)
class Setting:
    """One variable.

    Attributes:
        name: the variable.
        meaning: for operators, in Markdown; links are relative to docs/operations/.
        required: whether production does not start without it, in any role.
        required_with_tasks: the same, in roles that have workers.
        condition: other cases in which it is required, in words.
        default: its value if the variable is unset or empty; None if it has none, or if settings compute it.
        local: its default if PANAPP_MODE is local, if the default differs there.
        note: a word about the default.
        shown: the default in words, if settings compute it.
    """

    name: str
    meaning: str
    required: bool = False
    required_with_tasks: bool = False
    condition: str = ""
    default: str | None = None
    local: str | None = None
    note: str = ""
    shown: str = ""

    @property
    def requirement(self) -> str:
        """When it must be set, as in docs/operations/settings.md."""
        roles = [
            role.name
            for role in ROLES.values()
            if self.name in role.required or (self.required_with_tasks and role.tasks)
        ]
        return "yes" if self.required else f"yes: {', '.join(roles)}" if roles else self.condition


def _text_of(number: float) -> str:
    """A number as operators write it: 8, 1e-4, 1e9."""
    shown = f"{number:g}" if 0.01 <= number < 1_000_000 else f"{number:.0e}"
    return shown.replace("e-0", "e-").replace("e+0", "e")


_ALL = (
    Setting(
        "PANAPP_MODE",
        "`local` answers to 127.0.0.1 only and makes its own secrets",
        condition="is `production`",
        default="local",
    ),
    Setting(
        "PANAPP_ROLE",
        "`all-in-one`, `leader`, `helper`, `shuffler`, `issuer`, `attester` or `relay`",
        default="all-in-one",
    ),
    Setting(
        "PANAPP_PROCESS", "which [process](install.md#which-process-gets-which-key) this is", default="all"
    ),
    Setting(
        "PANAPP_SECRET_KEY",
        "signs sessions and form tokens; 50 characters or more; no effect if `local`",
        required=True,
    ),
    Setting(
        "PANAPP_SIGNING_KEY",
        "Ed25519 key that signs recipes: 32 bytes in base64; no effect if `local`",
        required=True,
    ),
    Setting(
        "PANAPP_KEY_ENCRYPTION_KEY",
        "AES-256-GCM key that seals other keys: 32 bytes in base64; no effect if `local`",
        required=True,
    ),
    Setting("PANAPP_ALLOWED_HOSTS", "host names of the site, comma-separated", required=True),
    Setting(
        "DATABASE_URL",
        "`postgres://panapp_process:password@database:5432/panapp?sslmode=verify-full`",
        required=True,
        shown="SQLite in the data directory",
    ),
    Setting(
        "PANAPP_DATABASE_CONNECTIONS",
        "most [connections](install.md#connections) of a web process",
        default="16",
    ),
    Setting(
        "CELERY_BROKER_URL",
        "`rediss://:password@broker:6379/0`",
        required_with_tasks=True,
        local="redis://127.0.0.1:6379/0",
    ),
    Setting(
        "PANAPP_QUEUE",
        "name of the task queue; different for each installation on one broker",
        default="panapp",
    ),
    Setting(
        "PANAPP_CACHE_URL",
        "Redis for counts of failed sign-ins and numbers of budgets",
        shown="the broker",
    ),
    Setting(
        "PANAPP_CSRF_TRUSTED_ORIGINS",
        "origins, such as `https://telemetry.example.org`, whose forms are accepted; needed if the "
        "proxy changes the Host header",
    ),
    Setting(
        "PANAPP_BEHIND_PROXY",
        "`1` trusts `X-Forwarded-Proto`, which the proxy must always overwrite",
        default="0",
    ),
    Setting(
        "PANAPP_HTTPS",
        "https redirects, secure cookies, HSTS (a year, subdomains, preload); `0` only in a closed network",
        default="1",
        local="0",
    ),
    Setting(
        "PANAPP_SECOND_FACTOR",
        "accounts that need a TOTP code: `off`, `optional`, `administrators` or `required`; see "
        "[notes](#notes)",
        default="optional",
    ),
    Setting(
        "PANAPP_OIDC_ISSUER",
        "OpenID provider of the organization ([signing in](sign-in.md)); with client and roles, or none",
    ),
    Setting("PANAPP_OIDC_CLIENT_ID", "this site's client ID at the provider"),
    Setting("PANAPP_OIDC_CLIENT_SECRET", "its client secret; for web processes only"),
    Setting("PANAPP_OIDC_GROUPS_CLAIM", "claim of ID tokens that lists groups", default="groups"),
    Setting(
        "PANAPP_OIDC_ROLES",
        "which groups have a role, such as `analyst=telemetry;auditor=audit`",
    ),
    Setting(
        "PANAPP_LOG_ORIGIN",
        "name of the public log, such as `telemetry.example/log`; cannot change once the log has begun",
        shown="`log-` and 16 digits",
    ),
    Setting(
        "PANAPP_LOG_POLICY", "file that names the [witnesses](two-organizations.md#witnesses) of this log"
    ),
    Setting(
        "PANAPP_WITNESSED_LOGS",
        "keys of the logs that this installation [witnesses](two-organizations.md#witnesses), "
        "comma-separated",
    ),
    Setting(
        "PANAPP_METRICS_TOKEN",
        "bearer token of `/metrics`, 32 characters or more; without it production has no `/metrics`",
    ),
    Setting(
        "PANAPP_DATA_DIR", "SQLite and local secrets", shown="`var/`; a helper's `var/helper/`, and so on"
    ),
    Setting(
        "PANAPP_STREAM_KEYS_DIR",
        "keys of [streams](install.md#streams); no backup, same for web and workers",
        shown="`stream-keys/` in the data directory",
    ),
    Setting(
        "PANAPP_ERASABLE_KEYS_DIR",
        "[erasable keys](backup-and-restore.md#erasable-keys) in files; no backup, same for web and workers",
        shown="`erasable-keys/` in the data directory",
    ),
    Setting(
        "PANAPP_KEY_SERVICE",
        "`files`, or a [PKCS#11 token](install.md#more-than-one-web-host) for erasable keys",
        default="files",
    ),
    Setting("PANAPP_KEY_SERVICE_PIN", "the token's PIN", condition="with a token"),
    Setting(
        "PANAPP_REPORT_STORE",
        "[object storage](install.md#object-storage) of reports, as `s3://bucket/prefix`",
        shown="the database",
    ),
    Setting(
        "PANAPP_STREAM_BYTES_PER_MINUTE",
        "most that a web process writes for a stream; above it the answer is 503",
        default="67108864",
        note="64 MiB",
    ),
    Setting(
        "PANAPP_STATIC_ROOT",
        "target of `collectstatic`, which a local web process runs itself",
        shown="`static/` in the data directory; `local`: below `var/static/`",
    ),
    Setting(
        "PANAPP_ADVANCE_SECONDS", "how often beat closes, plans and releases; may be a fraction", default="2"
    ),
    Setting(
        "PANAPP_ASK_ROUNDS",
        "`0`: publish no rounds of series here; commands that simulate set it",
        default="1",
    ),
    Setting(
        "PANAPP_CHUNK_REPORTS",
        "most reports in a chunk; less if they take more than 10 seconds or 8 MiB",
        default="2000",
    ),
    Setting("PANAPP_CHUNK_STALE_SECONDS", "time until a chunk's task is first sent again", default="60"),
    Setting(
        "PANAPP_RECIPE_CHUNKS",
        "most chunks of one recipe with workers at once; set it to the number of worker processes or a "
        "little more",
        default="4",
    ),
    Setting(
        "PANAPP_SITE_URL",
        "this site's address, for [simulations](install.md#simulations) and "
        "[notifications](install.md#notifications)",
    ),
    Setting(
        "PANAPP_TRY", "`1`: visitors may [try the product](install.md#trying-it) at `/try/`", default="0"
    ),
    Setting("PANAPP_WEBHOOK_NETWORKS", "private networks to which webhooks may go, such as `10.1.0.0/16`"),
    Setting("PANAPP_WEBHOOK_PORTS", "ports to which webhooks may go", default="443,8443"),
    Setting(
        "PANAPP_OTLP_ENDPOINT",
        "collector for public results as [metrics](../opentelemetry.md): `https://collector.example:4318`, "
        "or `http` on this machine",
    ),
    Setting(
        "PANAPP_OTLP_HEADERS",
        "its headers: `authorization=Bearer%20token,tenant=a`; for the sending worker only",
    ),
    Setting("PANAPP_EMAIL_FROM", "sender of e-mail; without it none is sent"),
    Setting(
        "PANAPP_EMAIL_URL",
        "`smtps://user:password@host:465`, or `smtp://…:587` (STARTTLS); percent-encode special characters",
        condition="with `PANAPP_EMAIL_FROM`, for the sending worker",
    ),
    Setting("PANAPP_LEADER_URL", "this leader's base address"),
    Setting("PANAPP_HELPER_URL", "the helper's base address"),
    Setting("PANAPP_HELPER_KEY", "the helper's verification key"),
    Setting("PANAPP_LEADER_KEY", "the leader's verification key"),
    Setting(
        "PANAPP_JANUS_PARTNERS",
        "base addresses of leaders or helpers that run [Janus](janus.md), comma-separated",
    ),
    Setting("PANAPP_SHUFFLER_URL", "the shuffler's base address; a site sets URL and key or neither"),
    Setting("PANAPP_SHUFFLER_KEY", "the shuffler's verification key"),
    Setting(
        "PANAPP_ANALYZER_KEY", "verification key of the site that publishes recipes through this shuffler"
    ),
    Setting("PANAPP_ISSUER_URL", "the issuer's base address; a site sets URL and key or neither"),
    Setting("PANAPP_ISSUER_KEY", "the issuer's verification key"),
    Setting(
        "PANAPP_RELAY_URL",
        "address at a relay, such as `https://relay.example.com/relay/hospital`; recipes can then require it",
    ),
    Setting("PANAPP_SITE_KEY", "verification key of the site that publishes recipes"),
    Setting("PANAPP_ATTESTER_URL", "the attester's base address"),
    Setting("PANAPP_ATTESTER_KEY", "the attester's verification key"),
    Setting(
        "PANAPP_ATTESTATION",
        "[how an attester knows devices](two-organizations.md#an-attester): `roster`, `webauthn`, "
        "`mtls`; locally `trial`",
        default="roster",
    ),
    Setting(
        "PANAPP_MTLS_HEADER",
        "[header](two-organizations.md#client-certificates) that the proxy overwrites",
        condition="with `mtls`",
    ),
    Setting(
        "PANAPP_DEVICE_REQUESTS",
        "attester: most token requests of a device in an hour; hours begin for all devices together",
        default="120",
    ),
    Setting(
        "PANAPP_DEVICE_ORIGINS",
        "origins whose pages may be [devices](../browser.md#a-page-of-another-origin), comma-separated",
    ),
    Setting(
        "PANAPP_RELAY_GATEWAYS", "servers to which a [relay](two-organizations.md#a-relay) passes requests"
    ),
    Setting(
        "PANAPP_BATCH_BYTES",
        "largest batch of a shuffler, which needs three times the memory",
        default="536870912",
        note="512 MiB",
    ),
    Setting(
        "PANAPP_SMALLEST_COHORT",
        "smallest cohort of a recipe, also for helpers and shufflers; a target needs ten times as many "
        "devices",
        default=_text_of(USUAL.smallest_cohort),
        local="2",
    ),
    Setting(
        "PANAPP_LARGEST_EPSILON",
        "largest ε of a recipe; at most 20",
        default=_text_of(USUAL.largest_epsilon),
        local=_text_of(NO_LIMIT),
    ),
    Setting(
        "PANAPP_LARGEST_LOCAL_EPSILON",
        "largest local ε (of one report) of a recipe; see [notes](#notes)",
        default=_text_of(USUAL.largest_local_epsilon),
        local=_text_of(NO_LOCAL_LIMIT),
    ),
    Setting(
        "PANAPP_LARGEST_DELTA",
        "largest δ of a recipe; at most 0.1",
        default=_text_of(USUAL.largest_delta),
        local=_text_of(NO_DELTA_LIMIT),
    ),
    Setting(
        "PANAPP_FOUR_EYES",
        "`on`: publishing needs another analyst's approval; see [notes](#notes)",
        default="off",
    ),
    Setting(
        "PANAPP_HPKE_GRACE_SECONDS",
        "how long a replaced HPKE key opens reports; at least 7200. Clients keep a key for half as "
        "long, at most 1 day",
        default="1209600",
        note="14 days",
    ),
    Setting(
        "PANAPP_JOB_REPORTS",
        "most reports that a helper takes in one aggregation job; at least 1,000",
        default="5000",
    ),
    Setting(
        "PANAPP_TASK_RETENTION_SECONDS",
        "how long a helper keeps an unended task after its last report time, and a shuffler a full "
        "batch; at most 100 years",
        default="7776000",
        note="90 days",
    ),
    Setting("PANAPP_DEBUG", "Django's debug pages; `local` only", default="0"),
)

SETTINGS = {setting.name: setting for setting in _ALL}
"""By name, in the order of the docs."""


def default_of(name: str, *, local: bool = False) -> str | None:
    """The default of a variable, which must be declared; None if it has none, or if settings compute it.

    Args:
        local: whether PANAPP_MODE is local.
    """
    setting = SETTINGS[name]
    return setting.local if local and setting.local is not None else setting.default
