"""Capsules: what comes out is what the same request gets by itself, and nothing else can be asked."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from audit.models import Entry
from gateway.models import GatewayKey
from gateway.tasks import expire_keys
from panprivacy.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.oblivious_http.binary_http import Request, Response
from public_log.integrating import integrate
from recipes.models import Recipe
from reports.models import ReportNonce
from storage.signing_key import verification_key
from tests.factories import as_json, published_recipe, report_of_count
from tests.scenes import analyst

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


def reports_of(recipe: Recipe) -> str:
    return f"/api/v1/recipes/{recipe.identifier}/reports/"


def test_get_in_a_capsule_is_answered_as_in_the_clear(client: Client) -> None:
    path = f"/api/v1/recipes/{published_recipe().identifier}/"
    response = asked(client, get(path, (b"accept", b"application/json")))
    direct = client.get(path, headers={"accept": "application/json"})
    assert (response.status, response.content) == (200, direct.content)
    assert dict(response.headers)[b"content-type"] == direct["Content-Type"].encode()


def test_the_log_can_be_checked_in_capsules(client: Client) -> None:
    """As a device behind a relay does before it joins."""
    recipe = published_recipe()
    size = integrate()
    paths = (f"/api/v1/recipes/{recipe.identifier}/proof/", f"/log/tile/0/000.p/{size}")
    for path in paths:
        response = asked(client, get(path, (b"accept", b"application/json")))
        assert (response.status, response.content) == (200, client.get(path).content)


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
    "path",
    ["/", "/api/v1/recipes/drafts/", ADDRESS, "/health/ready", "/admin/", "/metrics", "//api", "", "x"],
)
def test_addresses_that_are_not_for_devices_are_nothing(client: Client, path: str) -> None:
    assert asked(client, get(path)).status == 404


@pytest.mark.parametrize("method", [b"DELETE", b"HEAD", b"PUT", b"OPTIONS"])
def test_other_methods_are_nothing(client: Client, method: bytes) -> None:
    path = f"/api/v1/recipes/{published_recipe().identifier}/".encode()
    assert asked(client, Request(method, b"https", b"site.example", path)).status == 404


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
        assert Response.decode(context.open(answer.content)).status == 400


def test_capsule_to_an_unknown_key_is_answered_with_the_type_that_clients_know(client: Client) -> None:
    foreign, _ = keys.generate(200, SOURCE)
    answer = post(client, capsules.seal(foreign, b"", SOURCE)[0])
    assert answer.status_code == 400
    assert answer.json()["type"] == "https://iana.org/assignments/http-problem-types#ohttp-key"


def test_altered_cut_and_foreign_capsules_are_refused(client: Client) -> None:
    capsule, _ = sealed(client, get("/").encode())
    same_number, _ = keys.generate(capsule[0], SOURCE)
    foreign, _ = capsules.seal(same_number, b"", SOURCE)
    for bad in (capsule[:-1] + bytes([capsule[-1] ^ 1]), capsule[:-1], b"\1", foreign):
        answer = post(client, bad)
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/capsule-refused")


def test_other_methods_media_types_and_lengths_are_refused(client: Client) -> None:
    assert client.delete(ADDRESS).status_code == 405
    assert post(client, b"", "application/json").status_code == 415
    assert post(client, bytes(capsules.LARGEST_CAPSULE + 1)).status_code == 413
    assert post(client, bytes(capsules.LARGEST_CAPSULE)).status_code == 400


def test_old_key_opens_for_its_grace_period_and_the_new_one_is_in_the_log(
    client: Client, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    config, *_ = keys.decode_list(client.get(ADDRESS).content)
    capsule, _ = capsules.seal(config, get("/").encode(), SOURCE)
    call_command("ohttp_keys", "rotate")
    (new,) = keys.decode_list(client.get(ADDRESS).content)
    assert new.key_id != config.key_id
    assert post(client, capsule).status_code == 200
    expire_keys()
    assert post(client, capsule).status_code == 200
    over = timedelta(seconds=settings.HPKE_GRACE_SECONDS)
    GatewayKey.objects.filter(config_id=config.key_id).update(retired_at=timezone.now() - 2 * over)
    expire_keys()
    assert post(client, capsule).status_code == 400
    subjects = Entry.objects.filter(action="ohttp_key_introduced").order_by("index")
    assert [entry.subject for entry in subjects] == [str(config.key_id), str(new.key_id)]
    call_command("ohttp_keys", "list")
    assert "handed out" in capsys.readouterr().out


def test_keys_are_signed_and_may_be_kept_for_at_most_half_of_the_time_for_which_old_ones_open(
    client: Client, settings: Any
) -> None:
    answer = client.get(ADDRESS)
    assert answer["Content-Type"] == "application/ohttp-keys"
    assert signed_keys.verified(answer.content, answer[signed_keys.HEADER], verification_key())
    seconds = int(answer["Cache-Control"].removeprefix("max-age="))
    assert 2 * seconds <= settings.HPKE_GRACE_SECONDS
