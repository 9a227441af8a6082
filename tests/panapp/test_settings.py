"""Production fails closed: every role and process has what it needs, and nothing else."""

import base64
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from panapp import installation
from panapp.environment import mail_server, report_store
from panapp.generate_secrets import READ_BY_COMPOSE
from panapp.process_kinds import KEYS, KINDS
from storage.key_halves import public_half
from tests.panapp.scene import PLACES, REQUIRED_BY_ROLE, ROOT, VALUES, complete, load, refusal
from tests.refusals import raising


@pytest.mark.parametrize(
    "role",
    [
        # `make check` loads those of every role in a process of its own, too.
        pytest.param(role, marks=[pytest.mark.long] * (role not in {"all-in-one", "helper"}))
        for role in sorted(REQUIRED_BY_ROLE)
    ],
)
def test_settings_of_every_role_load_closed_in_a_process_of_their_own(role: str) -> None:
    """Debugging cannot be switched on there, whatever the environment says."""
    shown = "s.DEBUG, s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.ALLOWED_HOSTS"
    script = f"from django.conf import settings as s; print({shown})"
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**complete(role), "DJANGO_SETTINGS_MODULE": "panapp.settings", "PANAPP_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.stdout == "False True True ['telemetry.example']\n", loaded.stderr


@pytest.mark.parametrize("role", REQUIRED_BY_ROLE)
def test_production_without_a_required_variable_stops_and_names_it(role: str) -> None:
    environment = complete(role)
    for missing in REQUIRED_BY_ROLE[role]:
        without = {name: value for name, value in environment.items() if name != missing}
        assert f"{missing} must be set" in refusal(without)


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
def test_a_site_with_another_server_names_its_address_and_key(role: str, other: str) -> None:
    names = (f"PANAPP_{other}_URL", f"PANAPP_{other}_KEY")
    both = {**complete(role), **{name: VALUES[name] for name in names}}
    assert VALUES[names[0]] == getattr(load(both), f"{other}_URL")
    for missing in names:
        one = {name: value for name, value in both.items() if name != missing}
        assert f"{missing} must be set if" in refusal(one)


def test_production_refuses_that_every_fresh_key_is_a_device() -> None:
    attester = complete("attester")
    assert load(attester).ATTESTATION == "roster"
    assert "trial" in refusal({**attester, "PANAPP_ATTESTATION": "trial"})
    assert load({**PLACES, "PANAPP_ATTESTATION": "trial"}).ATTESTATION == "trial"


def environment_of(kind: str) -> dict[str, str]:
    """A complete environment of one process, with nothing that it does not need."""
    needless = {*KEYS, "PANAPP_METRICS_TOKEN"} - set(KINDS[kind].keys)
    needless |= set() if KINDS[kind].broker else {"CELERY_BROKER_URL"}
    environment = {name: value for name, value in complete("leader").items() if name not in needless}
    return {**environment, "PANAPP_PROCESS": kind}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_process_starts_with_its_own_keys_and_refuses_every_other(kind: str) -> None:
    environment, keys = environment_of(kind), set(KINDS[kind].keys)
    loaded = load(environment)
    given = {"PANAPP_SECRET_KEY": loaded.SECRET_KEY, "PANAPP_SIGNING_KEY": loaded.SIGNING_KEY}
    given["PANAPP_KEY_ENCRYPTION_KEY"] = loaded.KEY_ENCRYPTION_KEY
    assert {name for name, value in given.items() if value} == keys
    for name in set(KEYS) - keys:
        message = refusal({**environment, name: complete("leader")[name]})
        assert message.startswith(f"PANAPP_PROCESS={kind} has no use for {name}")
    for name in keys | {"DATABASE_URL"} | ({"CELERY_BROKER_URL"} if KINDS[kind].broker else set()):
        message = refusal({variable: v for variable, v in environment.items() if variable != name})
        assert message.startswith(name)


def test_web_threads_share_connections_and_a_worker_has_one() -> None:
    database = load({**environment_of("web"), "PANAPP_DATABASE_CONNECTIONS": "7"}).DATABASES["default"]
    assert database["OPTIONS"]["pool"]["max_size"] == 7
    assert database["CONN_MAX_AGE"] == 0
    assert "pool" not in load(environment_of("worker")).DATABASES["default"].get("OPTIONS", {})


@pytest.mark.parametrize(
    "command",
    ["demo --no-serve", f"collect {ROOT}/examples/recipe.json --events {ROOT}/examples/events.csv"],
)
def test_simulating_commands_are_refused_in_production_before_anything(command: str, settings: Any) -> None:
    # Without a database: a command that looked at it first would fail otherwise.
    settings.LOCAL = False
    with pytest.raises(CommandError, match="only if PANAPP_MODE is local"):
        call_command(*command.split())


STORE = {"AWS_ENDPOINT_URL": "https://objects.example", "PANAPP_REPORT_STORE": "s3://bucket/site/"}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("PANAPP_REPORT_STORE", "bucket/site", "must be one of"),
        ("PANAPP_REPORT_STORE", "s3:///site", "must be one of"),
        ("PANAPP_REPORT_STORE", "https://bucket.example/site", "must be one of"),
        ("PANAPP_REPORT_STORE", "s3://id:secret@bucket/site", "must hold no credentials"),
        ("PANAPP_REPORT_STORE", "file:///var/reports", "must not be a directory"),
        ("AWS_ENDPOINT_URL", "http://objects.example", "must be https"),
        ("AWS_ENDPOINT", "http://10.0.0.1:9000", "must be https"),
    ],
)
def test_a_report_store_that_cannot_be_meant_stops_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    for variable, given in {**STORE, name: value}.items():
        monkeypatch.setenv(variable, given)
    with pytest.raises(ImproperlyConfigured, match=f"{name} {problem}") as caught:
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


TOKEN = "pkcs11:token=two%20hosts;serial=42?module-path=/usr/lib/token.so"
ERASING = {"all", "web", "worker", "worker-to-helper", "worker-to-subscribers", "upkeep"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", None),
        ("files", None),
        (TOKEN, ("/usr/lib/token.so", "two hosts", "42")),
        ("pkcs11:serial=42?module-path=/a%3Fb", ("/a?b", "", "42")),
    ],
)
def test_key_service_is_files_or_a_token(value: str, expected: object, production: dict[str, str]) -> None:
    loaded = load({**production, "PANAPP_KEY_SERVICE": value, "PANAPP_KEY_SERVICE_PIN": "s3cret"})
    assert expected == loaded.KEY_TOKEN
    assert ("s3cret" if expected else "") == loaded.KEY_TOKEN_PIN


@pytest.mark.parametrize(
    "value",
    [
        *("file", "pkcs11", "pkcs11:", "pkcs11:token=a", "pkcs11:token=a?module-path=token.so"),
        *("pkcs11:?module-path=/a", "pkcs11:token=?module-path=/a", "PKCS11:token=a?module-path=/a"),
        *("pkcs11:token=a;slot-id=1?module-path=/a", "pkcs11:token=a;token=b?module-path=/a"),
        *("pkcs11:token=a?module-path=/a&module-path=/b", "pkcs11:token=a?module-path=/a&x=b"),
        *("pkcs11:token=a;module-path=/a", "https://token=a?module-path=/a"),
    ],
)
def test_key_service_that_is_not_understood_stops_and_names_it(
    value: str, production: dict[str, str]
) -> None:
    assert refusal({**production, "PANAPP_KEY_SERVICE": value}).startswith("PANAPP_KEY_SERVICE must be files")


@pytest.mark.parametrize("attribute", ["pin-value=s3cret", "pin-source=file:/s3cret"])
def test_pin_in_the_address_of_a_token_is_refused_and_not_shown(
    attribute: str, production: dict[str, str]
) -> None:
    message = refusal({**production, "PANAPP_KEY_SERVICE": f"{TOKEN}&{attribute}"})
    assert message == "PANAPP_KEY_SERVICE must hold no PIN, which is PANAPP_KEY_SERVICE_PIN"
    unreadable = {"PANAPP_KEY_SERVICE": TOKEN, "PANAPP_KEY_SERVICE_PIN": os.fsdecode(b"s3cret\xff")}
    message = refusal({**production, **unreadable})
    assert message == "PANAPP_KEY_SERVICE_PIN must be UTF-8 text"


def test_token_needs_its_library(production: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panapp.environment.find_spec", lambda _: None)
    message = refusal({**production, "PANAPP_KEY_SERVICE": TOKEN, "PANAPP_KEY_SERVICE_PIN": "s3cret"})
    assert message == "PANAPP_KEY_SERVICE needs what requirements-pkcs11.txt installs"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_process_that_uses_erasable_keys_needs_the_pin_and_no_other_has_it(kind: str) -> None:
    environment = {**environment_of(kind), "PANAPP_KEY_SERVICE": TOKEN}
    with_pin = {**environment, "PANAPP_KEY_SERVICE_PIN": "s3cret"}
    if kind in ERASING:
        assert load(with_pin).KEY_TOKEN_PIN == "s3cret"
        assert refusal(environment) == "PANAPP_KEY_SERVICE_PIN must be set if PANAPP_KEY_SERVICE is a token"
    else:
        assert load(environment).KEY_TOKEN_PIN == ""
        assert refusal(with_pin).startswith(f"PANAPP_PROCESS={kind} has no use for PANAPP_KEY_SERVICE_PIN")


def test_a_relay_is_named_by_the_address_that_leads_here(production: dict[str, str]) -> None:
    value = VALUES["PANAPP_RELAY_URL"]
    assert value == load({**production, "PANAPP_RELAY_URL": value}).RELAY_URL
    assert load(production).RELAY_URL is None
    http = value.replace("https", "http")
    for wrong in (f"{value}/", value.upper(), http, "https://relay.example", f"{value}?a", f"{value}/a"):
        assert "PANAPP_RELAY_URL must be" in refusal({**production, "PANAPP_RELAY_URL": wrong})


def test_certificates_need_a_setting_with_the_proxys_header() -> None:
    attester = complete("attester")
    header, mtls = {"PANAPP_MTLS_HEADER": "DeviceSubject"}, {"PANAPP_ATTESTATION": "mtls"}
    assert load({**attester, **header, **mtls}).MTLS_HEADER == "DeviceSubject"

    two_names = ({**mtls, "PANAPP_MTLS_HEADER": f"X{sign}Device{sign}Subject"} for sign in "-_")
    for wrong in (mtls, header, *two_names):
        assert "PANAPP_MTLS_HEADER must be" in refusal({**attester, **wrong})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        *(
            (base64.b64encode(weak).decode(), "must be an Ed25519 key")
            for weak in (bytes(32), b"\1" + bytes(31), b"\xff" * 32, b"\2" + bytes(31))
        ),
        ("c2hvcnQ=", "must be 32 bytes in base64"),
        ("not base64", "must be 32 bytes in base64"),
    ],
)
def test_key_of_another_server_that_is_no_strong_key_stops(key: str, said: str) -> None:
    for role, name in (("leader", "PANAPP_HELPER_KEY"), ("helper", "PANAPP_LEADER_KEY")):
        assert f"{name} {said}" in refusal({**complete(role), name: key})


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
        ("PANAPP_HPKE_GRACE_SECONDS", "1000000000000"),
        ("PANAPP_TASK_RETENTION_SECONDS", "1000000000000"),
        ("PANAPP_CHUNK_STALE_SECONDS", "1000000000000"),
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


def test_database_lies_in_the_data_directory_whatever_that_is_called(tmp_path: Path) -> None:
    """A checkout has a name that its user chose."""
    data = tmp_path / "it's 50% a#b?c ü"
    assert load({"PANAPP_DATA_DIR": str(data)}).DATABASES["default"]["NAME"] == str(data / "panapp.sqlite3")


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


def test_address_of_a_partner_is_a_base_address_or_stops() -> None:
    for host in ("helper.example", "helper.example:8443", "192.0.2.1"):
        value = f"https://{host}/helper"
        assert value == load({**complete("leader"), "PANAPP_HELPER_URL": value}).HELPER_URL
    for value in (
        *("helper.example", "http://helper.example/helper", "https://helper.example/helper/"),
        *("https://helper.example/helper?task=1", "https://helper.example/helper#top"),
        *("https://user@helper.example/helper", "https:///helper", "https://helper.example:0/helper"),
        *("https://helper.example:99999/helper", "https://[helper/helper", "https://helper.example/hel per"),
        *("https://helper.example", "https://helper.example/leader", "https:helper.example/helper"),
        *("https://HELPER.example/helper", "https://hélper.example/helper"),
        "https://helper.example\\@other/helper",
    ):
        message = refusal({**complete("leader"), "PANAPP_HELPER_URL": value})
        assert message.startswith("PANAPP_HELPER_URL must be an address"), value


@pytest.mark.parametrize(
    ("role", "spared"),
    [("leader", {"PANAPP_HELPER_URL", "PANAPP_HELPER_KEY"}), ("helper", {"PANAPP_LEADER_KEY"})],
)
def test_partner_that_runs_janus_spares_the_settings_of_another(role: str, spared: set[str]) -> None:
    environment = {**complete(role), "PANAPP_JANUS_PARTNERS": "https://a.example/, https://b.example/dap"}
    left = {name: value for name, value in environment.items() if name not in spared}
    assert load(left).JANUS_PARTNERS == ["https://a.example", "https://b.example/dap"]
    assert load(complete(role)).JANUS_PARTNERS == []
    for missing in REQUIRED_BY_ROLE[role] - spared:
        without = {name: value for name, value in left.items() if name != missing}
        assert f"{missing} must be set" in refusal(without)
    for value in ("http://a.example", "a.example", "https://a.example//", "https://a.example/?b", "https://"):
        message = refusal({**environment, "PANAPP_JANUS_PARTNERS": value})
        assert message.startswith("PANAPP_JANUS_PARTNERS must be an address"), value


def test_an_empty_value_is_as_good_as_none(production: dict[str, str]) -> None:
    names = ("PANAPP_CHUNK_REPORTS", "PANAPP_HTTPS", "PANAPP_METRICS_TOKEN", "PANAPP_DATA_DIR")
    without = load({key: given for key, given in production.items() if key not in names})
    with_empty = load({**production, **dict.fromkeys(names, "")})
    for shown in ("CHUNK_REPORTS", "SECURE_SSL_REDIRECT", "METRICS_TOKEN", "DATA_DIR"):
        assert getattr(with_empty, shown) == getattr(without, shown)


def test_data_directory_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PANAPP_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(ImproperlyConfigured, match="PANAPP_DATA_DIR must be a directory that can be written"):
        installation.own_secrets()
    monkeypatch.setenv("PANAPP_DATA_DIR", os.fsdecode(b"/tmp/\xff"))
    with pytest.raises(ImproperlyConfigured, match="PANAPP_DATA_DIR must be UTF-8 text"):
        installation.data_directory()


OIDC = {
    "PANAPP_OIDC_ISSUER": "https://login.example/realms/hospital",
    "PANAPP_OIDC_CLIENT_ID": "telemetry",
    "PANAPP_OIDC_CLIENT_SECRET": "s3cret",
    "PANAPP_OIDC_ROLES": "analyst=CN=Telemetry,OU=A; auditor=audit;analyst=/b",
}


def test_provider_of_the_organization_is_set_as_a_whole_or_not(production: dict[str, str]) -> None:
    found = load({**production, **OIDC}).OIDC
    assert (found.issuer, found.client_id, found.groups_claim) == (*list(OIDC.values())[:2], "groups")
    assert found.roles == (("analyst", "CN=Telemetry,OU=A"), ("auditor", "audit"), ("analyst", "/b"))
    assert found.roles_of(["audit", "/b", "/c"]) == {"auditor", "analyst"}
    assert "s3cret" not in repr(found)
    assert load(production).OIDC is None
    for missing in OIDC:
        without = {name: value for name, value in OIDC.items() if name != missing}
        assert refusal({**production, **without}).startswith(f"{missing} must")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("PANAPP_OIDC_ISSUER", value)
            for value in (
                *("http://login.example", "login.example", "https://", "https://login.example/?a=b"),
                *("https://login.example/#a", "https://ana:s3cret@login.example/", "https://a b"),
                *("https://login.example/ü", "https://login.example:0/", "https://LOGIN.example/"),
                *("https:login.example", f"https://login.example/{'a' * 300}"),
            )
        ),
        ("PANAPP_OIDC_CLIENT_ID", "a b"),
        ("PANAPP_OIDC_CLIENT_SECRET", "s3cret with spaces"),
        ("PANAPP_OIDC_GROUPS_CLAIM", "gröups"),
        *(
            ("PANAPP_OIDC_ROLES", value)
            for value in ("analyst", "root=a", "analyst=", "analyst=a;", "=a", "analyst=a, auditor=b")
        ),
    ],
)
def test_provider_that_cannot_be_meant_stops_and_names_the_variable(
    production: dict[str, str], name: str, value: str
) -> None:
    message = refusal({**production, **OIDC, name: value})
    assert message.startswith(f"{name} must")
    assert name == "PANAPP_OIDC_ISSUER" or "s3cret" not in message


def test_issuer_keeps_a_slash_at_its_end_and_may_be_http_on_this_machine() -> None:
    local = {**PLACES, **OIDC, "PANAPP_OIDC_ISSUER": "http://127.0.0.1:9000/"}
    assert load(local).OIDC.issuer == "http://127.0.0.1:9000/"


@pytest.mark.parametrize("kind", ["worker", "beat", "upkeep"])
def test_process_in_which_nothing_signs_in_refuses_the_client_secret(kind: str) -> None:
    message = refusal({**environment_of(kind), **OIDC})
    assert message.startswith(f"PANAPP_PROCESS={kind} has no use for PANAPP_OIDC_CLIENT_SECRET")


OTLP = {
    "PANAPP_OTLP_ENDPOINT": "https://collector.example:4318/",
    "PANAPP_OTLP_HEADERS": "Authorization=Bearer%20s3cret%2C=, x-scope=a",
}


def test_collector_has_an_address_and_headers_or_is_off(production: dict[str, str]) -> None:
    found = load({**production, **OTLP})
    assert found.OTLP_ENDPOINT == "https://collector.example:4318"
    assert found.OTLP_HEADERS == {"authorization": "Bearer s3cret,=", "x-scope": "a"}
    off = load(production)
    assert (off.OTLP_ENDPOINT, off.OTLP_HEADERS) == ("", {})
    for here in ("http://127.0.0.1:4318", "http://localhost/otlp"):
        assert here == load({**production, "PANAPP_OTLP_ENDPOINT": here}).OTLP_ENDPOINT
    alone = {**production, "PANAPP_OTLP_HEADERS": "a=s3cret"}
    assert refusal(alone) == "PANAPP_OTLP_ENDPOINT must be set if PANAPP_OTLP_HEADERS is"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("PANAPP_OTLP_ENDPOINT", value)
            for value in (
                *(
                    "http://collector.example:4318",
                    "http://10.0.0.1",
                    "http://localhost.example",
                    "collector",
                ),
                *(
                    "grpc://127.0.0.1",
                    "https://ana:s3cret@collector.example",
                    "https://collector.example/?a=b",
                    "https://collector.example/v1/metrics/",
                ),
            )
        ),
        *(
            ("PANAPP_OTLP_HEADERS", value)
            for value in (
                *("s3cret", "a=", "=s3cret", "a b=s3cret", "a=s3cret,A=s3cret", "a=s3cret%0D%0Ab: c"),
                *("host=s3cret", "Content-Type=s3cret", "a=s3cret%C3%BC"),
            )
        ),
    ],
)
def test_collector_that_cannot_be_meant_is_refused_and_no_header_shown(
    production: dict[str, str], name: str, value: str
) -> None:
    message = refusal({**production, **OTLP, name: value})
    assert message.startswith(f"{name} must be")
    assert name == "PANAPP_OTLP_ENDPOINT" or "s3cret" not in message


def test_collector_needs_the_exporter(production: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panapp.environment.version", raising(PackageNotFoundError))
    assert refusal({**production, **OTLP}) == "PANAPP_OTLP_ENDPOINT needs what requirements-otlp.txt installs"
    assert load(production).OTLP_ENDPOINT == ""


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_process_that_sends_no_metrics_refuses_their_headers(kind: str) -> None:
    environment = {**environment_of(kind), **OTLP}
    if KINDS[kind].notifies:
        assert load(environment).OTLP_HEADERS["x-scope"] == "a"
    else:
        expected = f"PANAPP_PROCESS={kind} has no use for PANAPP_OTLP_HEADERS"
        assert refusal(environment).startswith(expected)


OPERATIONS = ROOT / "docs" / "operations"

SETTINGS = (OPERATIONS / "settings.md").read_text()

TROUBLESHOOTING = (OPERATIONS / "troubleshooting.md").read_text()

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
    return set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", SETTINGS, re.MULTILINE))


def test_every_variable_that_code_reads_is_documented_and_the_reverse() -> None:
    read_elsewhere = {*READ_BY_COMPOSE, "PANAPP_TEST_SERVICES", "PROMETHEUS_MULTIPROC_DIR"}
    code = read_by_code()
    assert {*KEYS, "PANAPP_METRICS_TOKEN"} <= code
    assert documented() - read_elsewhere == code - read_elsewhere


@pytest.mark.parametrize("role", sorted(REQUIRED_BY_ROLE))
def test_documented_as_required_are_those_without_which_production_stops(role: str) -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| yes(?:: ([a-z, -]+))? \|", SETTINGS, re.MULTILINE)
    assert {name for name, roles in rows if not roles or role in roles.split(", ")} == REQUIRED_BY_ROLE[role]


def test_documented_metrics_are_those_that_are_served() -> None:
    sources = [file.read_text() for file in (ROOT / "collections").rglob("*metrics.py")]
    served = {name for source in sources for name in re.findall(r'"(panapp_\w+)"', source)}
    assert served
    assert set(re.findall(r"^\| `(panapp_\w+)` \|", TROUBLESHOOTING, re.MULTILINE)) == served
