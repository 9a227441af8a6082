"""Production fails closed, and docs/operations.md tells every variable."""

import base64
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from panapp.environment import mail_server, public_half, report_store
from panapp.generate_secrets import READ_BY_COMPOSE, named_secrets
from panapp.process_kinds import KEYS, KINDS

ROOT: Path = settings.BASE_DIR
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()

REQUIRED = {
    "PANAPP_SECRET_KEY",
    "PANAPP_SIGNING_KEY",
    "PANAPP_KEY_ENCRYPTION_KEY",
    "PANAPP_ALLOWED_HOSTS",
    "DATABASE_URL",
}
REQUIRED_BY_ROLE = {
    "all-in-one": REQUIRED | {"CELERY_BROKER_URL"},
    "leader": REQUIRED | {"CELERY_BROKER_URL", "PANAPP_LEADER_URL", "PANAPP_HELPER_URL", "PANAPP_HELPER_KEY"},
    "helper": REQUIRED | {"PANAPP_HELPER_URL", "PANAPP_LEADER_KEY"},
    "shuffler": REQUIRED | {"PANAPP_SHUFFLER_URL", "PANAPP_ANALYZER_KEY"},
    "issuer": REQUIRED
    | {"PANAPP_ISSUER_URL", "PANAPP_SITE_KEY", "PANAPP_ATTESTER_URL", "PANAPP_ATTESTER_KEY"},
    "relay": REQUIRED | {"PANAPP_RELAY_GATEWAYS"},
    "attester": REQUIRED | {"PANAPP_ATTESTER_URL", "PANAPP_ISSUER_URL", "PANAPP_ISSUER_KEY"},
}
PLACES = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
"""All that an environment made here inherits: where programs and modules lie."""

OTHER_KEY = base64.b64encode(bytes(range(32))).decode()
VALUES = {
    "PANAPP_ALLOWED_HOSTS": "telemetry.example",
    "DATABASE_URL": "postgres://panapp@database/panapp",
    "CELERY_BROKER_URL": "redis://broker:6379/0",
    "PANAPP_LEADER_URL": "https://leader.example/leader",
    "PANAPP_HELPER_URL": "https://helper.example/helper",
    "PANAPP_LEADER_KEY": OTHER_KEY,
    "PANAPP_HELPER_KEY": OTHER_KEY,
    "PANAPP_SHUFFLER_URL": "https://shuffler.example/shuffler",
    "PANAPP_SHUFFLER_KEY": OTHER_KEY,
    "PANAPP_ANALYZER_KEY": OTHER_KEY,
    "PANAPP_ISSUER_URL": "https://issuer.example/issuer",
    "PANAPP_ISSUER_KEY": OTHER_KEY,
    "PANAPP_RELAY_URL": "https://relay.example/relay/hospital",
    "PANAPP_SITE_KEY": OTHER_KEY,
    "PANAPP_ATTESTER_URL": "https://attester.example/attester",
    "PANAPP_ATTESTER_KEY": OTHER_KEY,
    "PANAPP_RELAY_GATEWAYS": "site=https://telemetry.example,site/helper=https://helper.example",
}


def complete(role: str) -> dict[str, str]:
    """A complete environment of production: nothing else is inherited."""
    return {
        **PLACES,
        "PANAPP_MODE": "production",
        "PANAPP_ROLE": role,
        **named_secrets(),
        **{name: value for name, value in VALUES.items() if name in REQUIRED_BY_ROLE[role]},
    }


@pytest.fixture
def production() -> dict[str, str]:
    return complete("all-in-one")


def load(environment: dict[str, str]) -> SimpleNamespace:
    """Execute the module of the settings anew with this environment alone, as each process does at its start.

    `test_settings_of_every_role_load_closed_in_a_process_of_their_own` starts some.
    """
    with patch.dict(os.environ, environment, clear=True):
        return SimpleNamespace(**runpy.run_path(str(ROOT / "panapp" / "settings.py")))


def refusal(environment: dict[str, str]) -> str:
    """Why they do not load."""
    with pytest.raises(ImproperlyConfigured) as error:
        load(environment)
    return str(error.value)


@pytest.mark.parametrize(
    "role",
    [
        # `make check` loads those of every role in a process of its own, too.
        pytest.param(role, marks=[pytest.mark.long] * (role not in {"all-in-one", "helper"}))
        for role in sorted(REQUIRED_BY_ROLE)
    ],
)
def test_settings_of_every_role_load_closed_in_a_process_of_their_own(role: str) -> None:
    shown = "s.DEBUG, s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.ALLOWED_HOSTS"
    script = f"from django.conf import settings as s; print({shown})"
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**complete(role), "DJANGO_SETTINGS_MODULE": "panapp.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.stdout == "False True True ['telemetry.example']\n", loaded.stderr


def test_production_with_generated_secrets_loads_and_is_closed(production: dict[str, str]) -> None:
    # Debugging cannot be switched on there, whatever the environment says.
    loaded = load({**production, "PANAPP_DEBUG": "1"})
    assert (loaded.DEBUG, loaded.SECURE_SSL_REDIRECT, loaded.SESSION_COOKIE_SECURE) == (False, True, True)
    assert loaded.ALLOWED_HOSTS == ["telemetry.example"]


@pytest.mark.parametrize(
    ("role", "missing"), [(role, name) for role, names in REQUIRED_BY_ROLE.items() for name in sorted(names)]
)
def test_production_without_a_required_variable_stops_and_names_it(role: str, missing: str) -> None:
    environment = complete(role)
    del environment[missing]
    assert f"{missing} must be set" in refusal(environment)


@pytest.mark.parametrize(
    ("role", "foreign"),
    [
        ("all-in-one", "PANAPP_HELPER_URL"),
        ("all-in-one", "PANAPP_LEADER_KEY"),
        ("leader", "PANAPP_LEADER_KEY"),
        ("helper", "PANAPP_LEADER_URL"),
        ("helper", "PANAPP_HELPER_KEY"),
        ("helper", "PANAPP_SHUFFLER_URL"),
        ("leader", "PANAPP_ANALYZER_KEY"),
        ("shuffler", "PANAPP_LEADER_KEY"),
        ("leader", "PANAPP_RELAY_GATEWAYS"),
        ("leader", "PANAPP_SITE_KEY"),
        ("shuffler", "PANAPP_ATTESTER_URL"),
        ("attester", "PANAPP_ANALYZER_KEY"),
    ],
)
def test_a_variable_of_another_role_stops_and_names_both(role: str, foreign: str) -> None:
    message = refusal({**complete(role), foreign: VALUES[foreign]})
    assert f"{foreign} belongs to PANAPP_ROLE=" in message
    assert message.endswith(f"PANAPP_ROLE is {role}")


@pytest.mark.parametrize("other", ["SHUFFLER", "ISSUER"])
@pytest.mark.parametrize("role", ["all-in-one", "leader"])
def test_a_site_may_have_another_server_and_must_then_name_its_address_and_its_key(
    role: str, other: str
) -> None:
    names = (f"PANAPP_{other}_URL", f"PANAPP_{other}_KEY")
    both = {**complete(role), **{name: VALUES[name] for name in names}}
    assert VALUES[names[0]] == getattr(load(both), f"{other}_URL")
    for missing in names:
        one = {name: value for name, value in both.items() if name != missing}
        assert f"{missing} must be set where" in refusal(one)


STORE = {"AWS_ENDPOINT_URL": "https://objects.example", "PANAPP_REPORT_STORE": "s3://bucket/site/"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"PANAPP_REPORT_STORE": "bucket/site"}, "PANAPP_REPORT_STORE must be one of"),
        ({"PANAPP_REPORT_STORE": "s3:///site"}, "PANAPP_REPORT_STORE must be one of"),
        ({"PANAPP_REPORT_STORE": "https://bucket.example/site"}, "PANAPP_REPORT_STORE must be one of"),
        (
            {"PANAPP_REPORT_STORE": "s3://id:secret@bucket/site"},
            "PANAPP_REPORT_STORE must hold no credentials",
        ),
        ({"PANAPP_REPORT_STORE": "file:///var/reports"}, "PANAPP_REPORT_STORE must not be a directory"),
        ({"AWS_ENDPOINT_URL": "http://objects.example"}, "AWS_ENDPOINT_URL must be https"),
        ({"AWS_ENDPOINT": "http://10.0.0.1:9000"}, "AWS_ENDPOINT must be https"),
    ],
)
def test_a_report_store_that_cannot_be_meant_stops_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], named: str
) -> None:
    for name, value in {**STORE, **changes}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=named) as caught:
        report_store("PANAPP_REPORT_STORE", local=False)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "endpoint", "local", "expected"),
    [
        ("", "http://objects.example", False, ""),
        ("s3://bucket/site/", "https://objects.example", False, "s3://bucket/site"),
        ("s3://bucket", "http://127.0.0.1:9000", False, "s3://bucket"),
        ("gs://bucket/site", "", False, "gs://bucket/site"),
        ("file:///tmp/reports", "", True, "file:///tmp/reports"),
    ],
)
def test_a_report_store_is_taken_without_the_slash_at_its_end(
    monkeypatch: pytest.MonkeyPatch, value: str, endpoint: str, local: bool, expected: str
) -> None:
    monkeypatch.setenv("PANAPP_REPORT_STORE", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert report_store("PANAPP_REPORT_STORE", local=local) == expected


def test_a_relay_is_named_by_the_address_that_leads_here(production: dict[str, str]) -> None:
    value = VALUES["PANAPP_RELAY_URL"]
    assert value == load({**production, "PANAPP_RELAY_URL": value}).RELAY_URL
    assert load(production).RELAY_URL is None
    host = "https://relay.example"
    for wrong in (
        f"{value}/",
        value.upper(),
        value.replace("https", "http"),
        host,
        f"{value}?a",
        f"{value}/a",
    ):
        assert "PANAPP_RELAY_URL must be" in refusal({**production, "PANAPP_RELAY_URL": wrong})


def test_production_refuses_that_every_fresh_key_is_a_device() -> None:
    attester = complete("attester")
    assert load(attester).ATTESTATION == "roster"
    assert "trial" in refusal({**attester, "PANAPP_ATTESTATION": "trial"})
    assert load({**PLACES, "PANAPP_ATTESTATION": "trial"}).ATTESTATION == "trial"


def test_certificates_are_believed_only_where_a_setting_names_the_proxys_header() -> None:
    attester = complete("attester")
    header, mtls = {"PANAPP_MTLS_HEADER": "DeviceSubject"}, {"PANAPP_ATTESTATION": "mtls"}
    assert load({**attester, **header, **mtls}).MTLS_HEADER == "DeviceSubject"
    # Before: behind a proxy that passes X_Device_Subject on, it was taken in place of X-Device-Subject.
    two_names = ({**mtls, "PANAPP_MTLS_HEADER": f"X{sign}Device{sign}Subject"} for sign in "-_")
    for wrong in (mtls, header, *two_names):
        assert "PANAPP_MTLS_HEADER must be" in refusal({**attester, **wrong})


@pytest.mark.parametrize("role", ["leader", "helper", "shuffler", "attester"])
def test_our_own_verification_key_is_not_taken_for_the_other_sides(role: str) -> None:
    environment = complete(role)
    own = public_half(base64.b64decode(environment["PANAPP_SIGNING_KEY"]))
    others = {"PANAPP_LEADER_KEY", "PANAPP_HELPER_KEY", "PANAPP_ANALYZER_KEY", "PANAPP_ISSUER_KEY"}
    (name,) = others & REQUIRED_BY_ROLE[role]
    message = refusal({**environment, name: base64.b64encode(own).decode()})
    assert f"{name} is our own verification key" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PANAPP_MODE", "Production"),
        ("PANAPP_HTTPS", "yes"),
        ("PANAPP_SIGNING_KEY", "c2hvcnQ="),
        ("PANAPP_KEY_ENCRYPTION_KEY", "not base64"),
        ("PANAPP_METRICS_TOKEN", "short"),
        ("PANAPP_SECRET_KEY", "x" * 49),
        ("PANAPP_CHUNK_REPORTS", "0"),
        ("PANAPP_ADVANCE_SECONDS", "0"),
        ("PANAPP_JOB_REPORTS", "999"),
        ("PANAPP_ROLE", "Leader"),
        ("PANAPP_SMALLEST_COHORT", "1"),
        ("PANAPP_BATCH_BYTES", "1000"),
        ("PANAPP_HPKE_GRACE_SECONDS", "7199"),
        ("PANAPP_PROCESS", "Web"),
        ("PANAPP_DATABASE_CONNECTIONS", "0"),
        ("PANAPP_WEBHOOK_NETWORKS", "10.0.0.1/8"),
        ("PANAPP_WEBHOOK_PORTS", "443,https"),
        ("PANAPP_EMAIL_FROM", "a@b.example, c@d.example"),
    ],
)
def test_a_value_that_is_not_understood_stops_and_names_its_variable(
    production: dict[str, str], name: str, value: str
) -> None:
    assert name in refusal({**production, name: value})


def test_mails_need_a_server_whose_password_no_refusal_shows(production: dict[str, str]) -> None:
    sender = {"PANAPP_EMAIL_FROM": "telemetry@example.org"}
    assert "PANAPP_EMAIL_URL" in refusal({**production, **sender})
    message = refusal({**production, **sender, "PANAPP_EMAIL_URL": "imap://ana:s3cret@mail.example"})
    assert "PANAPP_EMAIL_URL" in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("url", "local", "expected"),
    [
        ("smtps://a%40b:p%2Fw@mail.example", False, ("mail.example", 465, "a@b", "p/w", "implicit")),
        ("smtp://mail.example:2525", True, ("mail.example", 2525, "", "", "starttls")),
        ("smtp://127.0.0.1:25", False, ("127.0.0.1", 25, "", "", "starttls")),
        ("smtp://127.0.0.1:25", True, ("127.0.0.1", 25, "", "", "")),
    ],
)
def test_mail_server_is_spoken_to_with_tls_but_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, url: str, local: bool, expected: tuple[object, ...]
) -> None:
    monkeypatch.setenv("PANAPP_EMAIL_URL", url)
    assert mail_server("PANAPP_EMAIL_URL", local=local) == expected


def environment_of(kind: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """A complete environment of one process, with no key that it does not need."""
    needless = {*KEYS, "PANAPP_METRICS_TOKEN", *without} - set(KINDS[kind].keys)
    environment = {name: value for name, value in complete("leader").items() if name not in needless}
    return {**environment, "PANAPP_PROCESS": kind}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_process_starts_with_its_own_keys_and_refuses_every_other(kind: str) -> None:
    loaded = load(environment_of(kind))
    given = {"PANAPP_SECRET_KEY": loaded.SECRET_KEY, "PANAPP_SIGNING_KEY": loaded.SIGNING_KEY}
    given["PANAPP_KEY_ENCRYPTION_KEY"] = loaded.KEY_ENCRYPTION_KEY
    assert {name for name, value in given.items() if value} == set(KINDS[kind].keys)
    for name in set(KEYS) - set(KINDS[kind].keys):
        message = refusal({**environment_of(kind), name: complete("leader")[name]})
        assert message.startswith(f"PANAPP_PROCESS={kind} has no use for {name}")
    for name in KINDS[kind].keys:
        message = refusal({variable: v for variable, v in environment_of(kind).items() if variable != name})
        assert message.startswith(f"{name} must be set")


def test_process_without_database_or_broker_needs_no_address_of_it() -> None:
    assert load(environment_of("beat", without=("DATABASE_URL",))).DATABASES == {}
    assert load(environment_of("migrate", without=("CELERY_BROKER_URL",))).DATABASES["default"]["NAME"]
    assert refusal(environment_of("worker", without=("DATABASE_URL",))).startswith("DATABASE_URL")
    assert refusal(environment_of("beat", without=("CELERY_BROKER_URL",))).startswith("CELERY_BROKER_URL")


def test_threads_of_a_web_process_take_turns_at_its_connections_and_a_worker_has_one() -> None:
    database = load({**environment_of("web"), "PANAPP_DATABASE_CONNECTIONS": "7"}).DATABASES["default"]
    assert database["OPTIONS"]["pool"]["max_size"] == 7
    assert database["CONN_MAX_AGE"] == 0
    assert "pool" not in load(environment_of("worker")).DATABASES["default"].get("OPTIONS", {})


@pytest.mark.parametrize(
    "value",
    [
        "helper.example",
        "http://helper.example/helper",
        "https://helper.example/helper/",
        "https://helper.example/helper?task=1",
        "https://helper.example/helper#top",
        "https://user@helper.example/helper",
        "https:///helper",
        "https://helper.example:0/helper",
        "https://helper.example:99999/helper",
        "https://[helper/helper",
        "https://helper.example/hel per",
        "https://helper.example",
        "https://helper.example/leader",
        "https:helper.example/helper",
        "https://HELPER.example/helper",
        "https://hélper.example/helper",
        "https://helper.example\\@other/helper",
    ],
)
def test_an_address_of_the_other_side_that_is_no_base_address_stops_and_names_it(value: str) -> None:
    message = refusal({**complete("leader"), "PANAPP_HELPER_URL": value})
    assert message.startswith("PANAPP_HELPER_URL must be an address")


@pytest.mark.parametrize(
    "value",
    ["https://helper.example/helper", "https://helper.example:8443/helper", "https://192.0.2.1/helper"],
)
def test_a_base_address_of_the_other_side_is_taken_as_it_stands(value: str) -> None:
    assert value == load({**complete("leader"), "PANAPP_HELPER_URL": value}).HELPER_URL


@pytest.mark.parametrize("value", ["c2hvcnQ=", "not base64"])
def test_a_key_of_the_other_side_that_is_no_key_stops_and_names_it(value: str) -> None:
    message = refusal({**complete("helper"), "PANAPP_LEADER_KEY": value})
    assert message.endswith("PANAPP_LEADER_KEY must be 32 bytes in base64")


@pytest.mark.parametrize(
    "name", ["PANAPP_CHUNK_REPORTS", "PANAPP_HTTPS", "PANAPP_METRICS_TOKEN", "PANAPP_DATA_DIR"]
)
def test_an_empty_value_is_as_good_as_none(production: dict[str, str], name: str) -> None:
    without = load({key: given for key, given in production.items() if key != name})
    with_empty = load({**production, name: ""})
    shown = ("CHUNK_REPORTS", "SECURE_SSL_REDIRECT", "METRICS_TOKEN", "DATA_DIR")
    assert [getattr(with_empty, one) for one in shown] == [getattr(without, one) for one in shown]


EXAMPLE = Path(__file__).resolve().parents[2] / "examples"
FILES = [str(EXAMPLE / "recipe.json"), "--events", str(EXAMPLE / "events.csv")]


@pytest.mark.parametrize("command", [["demo", "--no-serve"], ["collect", *FILES]])
def test_simulating_commands_are_refused_in_production_before_anything(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a database: a command that looked at it first would fail otherwise.
    monkeypatch.setattr(settings, "LOCAL", False)
    with pytest.raises(CommandError, match="where PANAPP_MODE is local only"):
        call_command(*command)


def test_generated_secrets_are_fresh_each_time() -> None:
    first, second = named_secrets(), named_secrets()
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())


def run_module(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m`, where production settings are incomplete."""
    return subprocess.run(
        [sys.executable, "-m", name],
        cwd=ROOT,
        env={**PLACES, "PANAPP_MODE": "production", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_generate_secrets_prints_secrets_for_us_and_apart_from_them_the_key_for_the_other_side() -> None:
    made = run_module("panapp.generate_secrets")
    assert made.returncode == 0, made.stderr
    ours = dict(line.split("=", 1) for line in made.stdout.splitlines())
    assert ours.keys() == named_secrets().keys()
    # What the other side is told verifies what we sign, and holds none of our secrets.
    told = dict(re.findall(r"^  (PANAPP_\w+_KEY)=(\S+) ", made.stderr, re.MULTILINE))
    sides = ("LEADER", "HELPER", "ANALYZER", "SHUFFLER", "SITE", "ISSUER", "ATTESTER")
    assert set(told) == {f"PANAPP_{side}_KEY" for side in sides}
    assert not set(told.values()) & set(ours.values())
    signature = Ed25519PrivateKey.from_private_bytes(base64.b64decode(ours["PANAPP_SIGNING_KEY"])).sign(b"x")
    for key in told.values():
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(signature, b"x")


def test_verification_key_of_an_existing_signing_key_is_printed_again() -> None:
    secret = named_secrets()["PANAPP_SIGNING_KEY"]
    printed = run_module("panapp.verification_key", PANAPP_SIGNING_KEY=secret)
    assert base64.b64decode(printed.stdout) == public_half(base64.b64decode(secret))


@pytest.mark.parametrize("role", [pytest.param("all-in-one", marks=pytest.mark.long), "shuffler"])
def test_verification_key_of_a_local_installation_is_the_one_it_really_uses(
    role: str, tmp_path: Path
) -> None:
    environment = {
        "PANAPP_MODE": "local",
        "PANAPP_ROLE": role,
        "PANAPP_DATA_DIR": str(tmp_path),
        # Of another one: a local installation makes its own, and has not looked at this.
        "PANAPP_SIGNING_KEY": named_secrets()["PANAPP_SIGNING_KEY"],
    }
    # Before there is anything else, and before the other side's key is known.
    printed = run_module("panapp.verification_key", **environment)
    assert printed.returncode == 0, printed.stderr
    others = {"shuffler": {name: VALUES[name] for name in ("PANAPP_SHUFFLER_URL", "PANAPP_ANALYZER_KEY")}}
    used = subprocess.run(
        [sys.executable, "-c", "from panapp import settings; print(settings.SIGNING_KEY.hex())"],
        cwd=ROOT,
        env={**PLACES, **environment, **others.get(role, {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert base64.b64decode(printed.stdout) == public_half(bytes.fromhex(used.stdout))


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, "PANAPP_SIGNING_KEY must be set when PANAPP_MODE is production"),
        ({"PANAPP_SIGNING_KEY": "c2hvcnQ="}, "PANAPP_SIGNING_KEY must be 32"),
    ],
)
def test_verification_key_without_a_signing_key_says_so(environment: dict[str, str], says: str) -> None:
    printed = run_module("panapp.verification_key", **environment)
    assert (printed.returncode, printed.stdout) == (1, "")
    (line,) = printed.stderr.splitlines()
    assert line.startswith(says)


READS = (
    re.compile(r'environment\.\w+\(\s*"([A-Z_]+)"'),
    re.compile(r'os\.environ(?:\.get\(|\[)\s*"([A-Z_]+)"'),
    re.compile(r'"([A-Z_]+)" (?:not )?in os\.environ'),
)


def read_by_code() -> set[str]:
    """Names of the variables that panapp looks up."""
    sources = [file.read_text() for file in (ROOT / "panapp").rglob("*.py")]
    return {name for source in sources for pattern in READS for name in pattern.findall(source)}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", OPERATIONS, re.MULTILINE))


def test_every_variable_that_code_reads_is_documented_and_the_reverse() -> None:
    read_elsewhere = {*READ_BY_COMPOSE, "PANAPP_TEST_SERVICES", "PROMETHEUS_MULTIPROC_DIR"}
    keys_table = {
        "PANAPP_SIGNING_KEY",
        "PANAPP_KEY_ENCRYPTION_KEY",
        "PANAPP_SECRET_KEY",
        "PANAPP_METRICS_TOKEN",
    }
    code = read_by_code()
    assert len(code) > 20
    assert keys_table <= code
    assert documented() - read_elsewhere == code - read_elsewhere


@pytest.mark.parametrize("role", sorted(REQUIRED_BY_ROLE))
def test_documented_as_required_are_those_without_which_production_stops(role: str) -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| yes(?:: ([a-z, -]+))? \|", OPERATIONS, re.MULTILINE)
    assert {name for name, roles in rows if not roles or role in roles.split(", ")} == REQUIRED_BY_ROLE[role]


def test_documented_metrics_are_those_that_are_served() -> None:
    sources = [file.read_text() for file in (ROOT / "panapp").glob("*_metrics.py")]
    served = {name for source in sources for name in re.findall(r'"(panapp_\w+)"', source)}
    assert served
    assert set(re.findall(r"^\| `(panapp_\w+)` \|", OPERATIONS, re.MULTILINE)) == served
