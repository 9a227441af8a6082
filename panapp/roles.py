"""What one process of an installation is for: the roles of PANAPP_ROLE, as a table.

A role is a choice of apps, addresses and settings. Logic never asks which role it runs in: what a role must
not do is not installed there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.core.exceptions import ImproperlyConfigured

_JANUS = "PANAPP_JANUS_PARTNERS"
_OF_SIGNING: Mapping[str, frozenset[str]] = {
    "leader": frozenset({"PANAPP_HELPER_URL", "PANAPP_HELPER_KEY"}),
    "helper": frozenset({"PANAPP_LEADER_KEY"}),
}
"""By role: variables about a partner that signs, which may be unset if one that runs Janus is named."""

_SITE_APPS = (
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
    "storage",
    "storage.answers",
    "log.audit",
    "log.public_log",
    "accounts.api_tokens",
    "partners.ohttp.gateway",
    "accounts.second_factor",
    "accounts.oidc",
    "accounts",
    "dap",
    "dap.leader",
    "streams",
    "ledger",
    "recipes",
    "recipes.planner",
    "reports",
    "tokens.admission",
    "shuffle.analyzer",
    "joint_key.leader",
    "results.aggregation",
    "results",
    "series",
    "simulations",
    "notifications",
    "pages",
    "pages.dashboards",
    "pages.overview",
    "panapp",
)
_SITE_MIDDLEWARE = (
    "web.bodies.BodiesMiddleware",
    "web.request_metrics.RequestsBeforeMiddleware",
    "web.compression.PagesGZipMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "web.errors.CommonMiddleware",
    "web.plain_address.PlainAddressMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "pages.cache_control.SignedInPagesMiddleware",
    "log.audit.actor.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "axes.middleware.AxesMiddleware",
    "web.request_metrics.RequestsAfterMiddleware",
)
_SITE_CONTEXT = (
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
    "csp.context_processors.nonce",
    "log.audit.access.log_access",
)
_SITE_CHECKS = ("database", "migrations", "keys", "writes", "broker", "store", "clock", "log", "series")
_SITE_METRICS = (
    "results.metrics.CollectionsCollector",
    "storage.clock_metrics.ClocksCollector",
    "log.public_log.metrics.LogCollector",
    "dap.metrics.TasksCollector",
    "dap.leader.metrics.LeaderCollector",
    "shuffle.analyzer.metrics.FetchesCollector",
    "joint_key.leader.metrics.SumsCollector",
)
_SITE_MAY_HAVE = (
    ("PANAPP_SHUFFLER_URL", "PANAPP_SHUFFLER_KEY"),
    ("PANAPP_ISSUER_URL", "PANAPP_ISSUER_KEY"),
    ("PANAPP_RELAY_URL",),
)

# Of the servers that others run: no accounts, sessions or forms, because they have no sign-in.
_PARTNER_APPS = (
    "django.contrib.staticfiles",
    "csp",
    "django_prometheus",
    "storage",
    "log.audit.apps.AuditWithoutAccountsConfig",
    "log.public_log.apps.SignedAtOnceConfig",
)
_PARTNER_MIDDLEWARE = (
    "web.bodies.BodiesMiddleware",
    "web.request_metrics.RequestsBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "web.plain_address.PlainAddressMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "web.request_metrics.RequestsAfterMiddleware",
)
_EVERYWHERE = ("storage.clock_metrics.ClocksCollector", "log.public_log.metrics.LogCollector")
_PARTNER_CONTEXT = (
    "django.template.context_processors.request",
    "csp.context_processors.nonce",
)


@dataclass(frozen=True)
class Role:
    """One row of the table.

    Attributes:
        name: value of PANAPP_ROLE.
        apps: Django apps, in the order in which they are set up.
        urlconf: module of the addresses that it answers to.
        errors: module that answers if no view does.
        middleware, context_processors: as in Django's settings.
        required: variables about another server, that this role needs and others refuse.
        optional: groups of those that it may have, all of a group or none, and others refuse.
        tasks: whether it has workers, and with them a broker and a cache that processes share.
        checks: what `/health/ready` checks.
        metrics: collectors that `/metrics` reads, as dotted names.
        oblivious: names of the addresses that requests in capsules may ask (gateway).
        direct: names of further addresses that devices ask, not in capsules.
        ingest: module of the addresses that are answered in front of the middlewares; empty if none is.
        static_folders: with static files of apps that are not installed, below the project.
        data_folder: its default data folder below the project, if PANAPP_DATA_DIR is unset.
    """

    name: str
    apps: tuple[str, ...]
    urlconf: str
    errors: str
    middleware: tuple[str, ...]
    context_processors: tuple[str, ...]
    required: tuple[str, ...]
    optional: tuple[tuple[str, ...], ...]
    tasks: bool
    checks: tuple[str, ...]
    metrics: tuple[str, ...]
    oblivious: tuple[str, ...]
    direct: tuple[str, ...]
    ingest: str
    static_folders: tuple[str, ...]
    data_folder: str

    @property
    def about_others(self) -> tuple[str, ...]:
        """Every variable about another server that this role knows."""
        return (*self.required, *(name for group in self.optional for name in group))

    def check_required(self, variables: Mapping[str, str]) -> None:
        """Refuse an environment that lacks what this role needs, or that is another role's.

        Raises:
            ImproperlyConfigured: names the variable.
        """
        spared = _OF_SIGNING.get(self.name, frozenset()) if variables.get(_JANUS) else frozenset()
        for name in self.required:
            if not variables.get(name) and name not in spared:
                raise ImproperlyConfigured(
                    f"{name} must be set when PANAPP_ROLE is {self.name} (see docs/operations/settings.md)"
                )
        for group in self.optional:
            given = [name for name in group if variables.get(name)]
            if 0 < len(given) < len(group):
                (missing, *_) = set(group) - set(given)
                raise ImproperlyConfigured(
                    f"{missing} must be set if {given[0]} is (see docs/operations/settings.md)"
                )
        for role in ROLES.values():
            for name in role.required:
                if name not in self.about_others and variables.get(name):
                    raise ImproperlyConfigured(
                        f"{name} belongs to PANAPP_ROLE={role.name}, but PANAPP_ROLE is {self.name}"
                    )


_ALL_IN_ONE = Role(
    name="all-in-one",
    apps=_SITE_APPS,
    urlconf="panapp.leader_urls",
    errors="web.errors",
    middleware=_SITE_MIDDLEWARE,
    context_processors=_SITE_CONTEXT,
    required=(),
    optional=_SITE_MAY_HAVE,
    tasks=True,
    checks=_SITE_CHECKS,
    metrics=_SITE_METRICS,
    oblivious=(
        *("api-recipe", "api-recipe-proof", "log-tile", "api-verification-key"),
        # What a target rests on, and what a round is one of.
        *("api-result", "api-release-proof"),
        *("api-rounds", "api-rounds-proof", "api-round-input", "api-round-input-proof"),
        *("api-report", "leader-hpke-config", "leader-reports"),
    ),
    direct=(),
    ingest="panapp.ingest_urls",
    static_folders=(),
    data_folder="var",
)
_HELPER = Role(
    name="helper",
    apps=(*_PARTNER_APPS, "partners.ohttp.gateway", "dap", "dap.helper", "joint_key.helper"),
    urlconf="panapp.helper_urls",
    errors="web.problem_errors",
    middleware=_PARTNER_MIDDLEWARE,
    context_processors=_PARTNER_CONTEXT,
    required=("PANAPP_HELPER_URL", "PANAPP_LEADER_KEY"),
    optional=(),
    tasks=False,
    checks=("database", "migrations", "keys", "writes", "clock", "log"),
    metrics=("dap.metrics.TasksCollector", *_EVERYWHERE),
    oblivious=("helper-hpke-config",),
    direct=(),
    ingest="",
    # Its page is styled like the site's.
    static_folders=("collections/pages/static",),
    data_folder="var/helper",
)
ROLES = {
    role.name: role
    for role in (
        _ALL_IN_ONE,
        replace(
            _ALL_IN_ONE,
            name="leader",
            required=("PANAPP_LEADER_URL", "PANAPP_HELPER_URL", "PANAPP_HELPER_KEY"),
        ),
        _HELPER,
        replace(
            _HELPER,
            name="shuffler",
            apps=(*_PARTNER_APPS, "partners.ohttp.gateway", "shuffle.shuffler"),
            checks=("database", "migrations", "keys", "writes", "clock", "log"),
            oblivious=("shuffler-messages",),
            urlconf="panapp.shuffler_urls",
            required=("PANAPP_SHUFFLER_URL", "PANAPP_ANALYZER_KEY"),
            metrics=("shuffle.shuffler.metrics.BatchesCollector", *_EVERYWHERE),
            data_folder="var/shuffler",
        ),
        replace(
            _HELPER,
            name="issuer",
            apps=(*_PARTNER_APPS, "partners.ohttp.gateway", "tokens.issuer"),
            # What it answers comes through its attester: a capsule that is sent here reaches nothing.
            oblivious=(),
            urlconf="panapp.issuer_urls",
            required=(
                "PANAPP_ISSUER_URL",
                "PANAPP_SITE_KEY",
                "PANAPP_ATTESTER_URL",
                "PANAPP_ATTESTER_KEY",
            ),
            metrics=("tokens.issuer.metrics.TokensCollector", *_EVERYWHERE),
            data_folder="var/issuer",
        ),
        replace(
            _HELPER,
            name="relay",
            apps=(*_PARTNER_APPS, "partners.ohttp.relay"),
            checks=("database", "migrations", "clock", "log"),
            oblivious=(),
            direct=("relay", "relay-partner"),
            urlconf="panapp.relay_urls",
            required=("PANAPP_RELAY_GATEWAYS",),
            metrics=_EVERYWHERE,
            data_folder="var/relay",
        ),
        replace(
            _HELPER,
            name="attester",
            apps=(*_PARTNER_APPS, "tokens.attester"),
            checks=("database", "migrations", "writes", "clock", "log"),
            oblivious=(),
            direct=("attester-token", "attester-issuer-keys", "attester-enrolments"),
            urlconf="panapp.attester_urls",
            required=("PANAPP_ATTESTER_URL", "PANAPP_ISSUER_URL", "PANAPP_ISSUER_KEY"),
            metrics=("tokens.attester.metrics.DevicesCollector", *_EVERYWHERE),
            data_folder="var/attester",
        ),
    )
}


def role_named(name: str) -> Role:
    """The role of this name. Raises ImproperlyConfigured if there is none."""
    if name not in ROLES:
        raise ImproperlyConfigured(f"PANAPP_ROLE must be one of {', '.join(ROLES)}, not {name!r}")
    return ROLES[name]
