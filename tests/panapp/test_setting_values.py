"""A setting that cannot be meant stops the process, and names its variable."""

import base64
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from panapp.environment import mail_server, report_store
from storage.key_halves import public_half
from tests.panapp.environments import REQUIRED_BY_ROLE, VALUES, complete, load, refusal

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


def test_certificates_are_believed_only_where_a_setting_names_the_proxys_header() -> None:
    attester = complete("attester")
    header, mtls = {"PANAPP_MTLS_HEADER": "DeviceSubject"}, {"PANAPP_ATTESTATION": "mtls"}
    assert load({**attester, **header, **mtls}).MTLS_HEADER == "DeviceSubject"
    # Before: behind a proxy that passes X_Device_Subject on, it was taken in place of X-Device-Subject.
    two_names = ({**mtls, "PANAPP_MTLS_HEADER": f"X{sign}Device{sign}Subject"} for sign in "-_")
    for wrong in (mtls, header, *two_names):
        assert "PANAPP_MTLS_HEADER must be" in refusal({**attester, **wrong})


@pytest.mark.parametrize(
    "encoded", [bytes(32), b"\1" + bytes(31), b"\xff" * 32, b"\2" + bytes(31)], ids=bytes.hex
)
def test_key_of_another_server_that_is_not_of_prime_order_stops(encoded: bytes) -> None:
    weak = base64.b64encode(encoded).decode()
    for role, name in (("leader", "PANAPP_HELPER_KEY"), ("helper", "PANAPP_LEADER_KEY")):
        message = refusal({**complete(role), name: weak})
        assert f"{name} must be an Ed25519 key" in message


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
