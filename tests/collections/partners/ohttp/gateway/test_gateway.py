"""Capsules: what comes out is what the same request gets by itself, and nothing else can be asked."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dap.helper import task_ends as helper
from log.audit.models import Entry
from log.public_log.tree_growth import integrate
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from partners.ohttp.gateway.keys import GATEWAY_KEYS
from partners.ohttp.gateway.models import GatewayKey
from partners.ohttp.gateway.tasks import expire_keys
from recipes.models import Recipe
from reports.models import ReportNonce
from shuffle.shuffler import batch_ends as shuffler
from storage.signing_key import verification_key
from tests.factories import as_json, published_recipe, report_of_count
from tests.scenes import analyst
from tokens.issuer import recipe_ends as issuer

pytestmark = pytest.mark.django_db

ADDRESS = "/.well-known/ohttp-gateway"
SOURCE = random.Random(9458)
JSON = ((b"content-type", b"application/json"),)


def post(client: Client, capsule: bytes, content_type: str = capsules.REQUEST_MEDIA_TYPE) -> Any:
    return client.post(ADDRESS, capsule, content_type=content_type)


def sealed(client: Client, request: bytes) -> tuple[bytes, capsules.ClientContext]:
    config, *_ = keys.decode_list(client.get(ADDRESS).content)
    return capsules.seal(config, request, SOURCE)


def asked(client: Client, request: Request) -> Response:
    """What is answered in a capsule."""
    capsule, context = sealed(client, padding.padded(request.encode()))
    answer = post(client, capsule)
    assert (answer.status_code, answer["Content-Type"]) == (200, "message/ohttp-res")
    opened = context.open(answer.content)
    assert len(opened) in padding.CLASSES
    return Response.decode(opened)


def get(path: str, *headers: tuple[bytes, bytes]) -> Request:
    return Request(b"GET", b"https", b"site.example", path.encode(), headers)


def assert_problem(response: Response, status: int) -> None:
    assert dict(response.headers)[b"content-type"] == b"application/problem+json"
    assert (response.status, json.loads(response.content)["status"]) == (status, status)


def reports_of(recipe: Recipe) -> str:
    return f"/api/v1/recipes/{recipe.identifier}/reports/"


def test_get_in_a_capsule_is_answered_as_in_the_clear(client: Client) -> None:
    """What a device behind a relay reads before it joins."""
    recipe = published_recipe()
    address, size = f"/api/v1/recipes/{recipe.identifier}/", integrate()
    for path in (address, f"{address}proof/", f"/log/tile/0/000.p/{size}"):
        response = asked(client, get(path, (b"accept", b"application/json")))
        direct = client.get(path, headers={"accept": "application/json"})
        assert (response.status, response.content) == (200, direct.content)
        assert dict(response.headers)[b"content-type"] == direct["Content-Type"].encode()


def test_report_in_a_capsule_counts_once(client: Client) -> None:
    recipe = published_recipe()
    report = json.dumps(as_json(report_of_count(recipe, 1))).encode()
    request = Request(b"POST", b"https", b"site.example", reports_of(recipe).encode(), JSON, report)
    assert [asked(client, request).status for _ in range(2)] == [201, 409]
    # The same bytes once more: a relay that repeats does no harm either.
    capsule, _ = sealed(client, request.encode())
    assert [post(client, capsule).status_code for _ in range(2)] == [200, 200]
    assert ReportNonce.objects.count() == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *((b"GET", path) for path in ("/", "/api/v1/recipes/drafts/", ADDRESS, "/health/ready", "/admin/")),
        *((b"GET", path) for path in ("/metrics", "//api", "", "x")),
        *((method, "/api/v1/verification-key/") for method in (b"DELETE", b"HEAD", b"PUT", b"OPTIONS")),
    ],
)
def test_what_is_not_for_devices_is_nothing(client: Client, method: bytes, path: str) -> None:
    assert_problem(asked(client, Request(method, b"https", b"site.example", path.encode())), 404)


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "status"),
    [
        ("GET", "/api/v1/recipes/xyz/", (), b"", 404),
        ("GET", f"/api/v1/recipes/{'0' * 64}/", (), b"", 404),
        ("GET", "/log/tile/0/000.p/200", (), b"", 404),
        ("GET", "/log/tile/x", (), b"", 404),
        ("POST", "/log/tile/0/000.p/200", (), b"", 405),
        ("POST", "/leader/hpke_config", (), b"", 405),
        ("GET", "/api/v1/verification-key/", ((b"accept", b"image/png"),), b"", 406),
        ("POST", "/leader/tasks/{task}/reports", (), b"", 404),
        ("GET", "{reports}", (), b"", 405),
        ("POST", "{reports}", (), b"{}", 415),
        ("POST", "{reports}", JSON, b"{", 400),
        ("POST", "{reports}", JSON, b"{}", 422),
        ("POST", "{reports}", JSON, b'"' + bytes(30_000) + b'"', 413),
    ],
)
def test_every_refusal_in_a_capsule_is_a_problem_document(
    client: Client, method: str, path: str, headers: Any, content: bytes, status: int
) -> None:
    target = path.format(reports=reports_of(published_recipe()), task="A" * 43).encode()
    assert_problem(
        asked(client, Request(method.encode(), b"https", b"site.example", target, headers, content)), status
    )


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (OperationalError, 503)])
@pytest.mark.parametrize(
    ("path", "failing"),
    [
        ("/leader/hpke_config", "dap.views.hpke_config_list"),
        ("/log/tile/0/000", "log.public_log.views.tile_bytes"),
        ("/api/v1/verification-key/", "recipes.api.verification_key"),
    ],
)
def test_every_failure_in_a_capsule_is_a_problem_document(
    client: Client, monkeypatch: pytest.MonkeyPatch, path: str, failing: str, error: Any, status: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error("s3cret")

    monkeypatch.setattr(failing, fail)
    client.raise_request_exception = False
    answer = asked(client, get(path))
    assert_problem(answer, status)
    assert b"s3cret" not in answer.content


def test_who_is_signed_in_outside_is_nobody_inside(client: Client) -> None:
    client.force_login(analyst())
    cookie = f"sessionid={client.cookies['sessionid'].value}".encode()
    # Without a session it takes a sign-in, here that it is no address for devices: neither is answered.
    assert client.get("/api/v1/recipes/drafts/").status_code == 200
    assert asked(client, get("/api/v1/recipes/drafts/", (b"cookie", cookie))).status == 404
    recipe = published_recipe()
    public = asked(client, get(f"/api/v1/recipes/{recipe.identifier}/", (b"cookie", cookie)))
    assert public.content == Client().get(f"/api/v1/recipes/{recipe.identifier}/").content


def test_what_is_no_request_is_refused_inside_the_capsule(client: Client) -> None:
    for request in (b"", b"\xff" * 20, Response(200).encode()):
        capsule, context = sealed(client, request)
        answer = post(client, capsule)
        assert answer.status_code == 200
        assert_problem(Response.decode(context.open(answer.content)), 400)


def test_capsules_that_do_not_open_are_refused(client: Client) -> None:
    capsule, _ = sealed(client, get("/").encode())
    same_number, _ = keys.generate(capsule[0], SOURCE)
    unknown, _ = keys.generate(capsule[0] + 2, SOURCE)
    foreign, to_unknown = (capsules.seal(config, b"", SOURCE)[0] for config in (same_number, unknown))
    refused = [capsule[:-1] + bytes([capsule[-1] ^ 1]), capsule[:-1], b"\1", foreign]
    for bad in refused:
        answer = post(client, bad)
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/capsule-refused")
    answer = post(client, to_unknown)
    known_type = "https://iana.org/assignments/http-problem-types#ohttp-key"
    assert (answer.status_code, answer.json()["type"]) == (400, known_type)
    assert client.delete(ADDRESS).status_code == 405
    assert post(client, b"", "application/json").status_code == 415
    largest = bytes(capsules.LARGEST_CAPSULE)
    assert [post(client, body).status_code for body in (largest, largest + b"\0")] == [400, 413]


@pytest.mark.parametrize("app", [helper, issuer, shuffler], ids=["helper", "issuer", "shuffler"])
def test_upkeep_of_a_server_deletes_keys_after_their_grace_period(settings: Any, app: Any) -> None:
    now = timezone.now()
    first, second = ({key.config_id for key in GATEWAY_KEYS.rotate(now=now)} for _ in range(2))
    app.upkeep(now=now + timedelta(seconds=settings.HPKE_GRACE_SECONDS - 1))
    assert set(GatewayKey.objects.values_list("config_id", flat=True)) == first | second
    app.upkeep(now=now + timedelta(seconds=settings.HPKE_GRACE_SECONDS))
    assert set(GatewayKey.objects.values_list("config_id", flat=True)) == second


def test_old_key_opens_for_its_grace_period_and_the_new_one_is_in_the_log(
    client: Client, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    config, other = keys.decode_list(client.get(ADDRESS).content)
    capsule, _ = capsules.seal(config, get("/").encode(), SOURCE)
    call_command("ohttp_keys", "rotate")
    new, another = keys.decode_list(client.get(ADDRESS).content)
    assert new.key_id != config.key_id
    assert post(client, capsule).status_code == 200
    expire_keys()
    assert post(client, capsule).status_code == 200
    over = timedelta(seconds=settings.HPKE_GRACE_SECONDS)
    GatewayKey.objects.filter(config_id=config.key_id).update(retired_at=timezone.now() - 2 * over)
    expire_keys()
    assert post(client, capsule).status_code == 400
    subjects = Entry.objects.filter(action="ohttp_key_introduced").order_by("index")
    assert [entry.subject for entry in subjects] == [str(key.key_id) for key in (config, other, new, another)]
    call_command("ohttp_keys", "list")
    assert "handed out" in capsys.readouterr().out


def test_keys_are_signed_and_kept_for_half_of_the_grace_period(client: Client, settings: Any) -> None:
    answer = client.get(ADDRESS)
    assert answer["Content-Type"] == "application/ohttp-keys"
    assert signed_keys.verified(answer.content, answer[signed_keys.HEADER], verification_key())
    seconds = int(answer["Cache-Control"].removeprefix("max-age="))
    assert 2 * seconds <= settings.HPKE_GRACE_SECONDS
