"""One token of a device and recipe, whatever device, attester and issuer do."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from panprivacy.formats import base64_text
from panprivacy.protocols.attestation import CAPSULE_BYTES, KEY_HEADER
from panprivacy.protocols.oblivious_http.binary_http import Response
from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM
from panprivacy.protocols.privacy_pass import issuance
from tests.collections.tokens.attester.scene import (
    OTHER_RECIPE,
    RECIPE,
    FakeIssuer,
    KeyedDevice,
    ask,
    post,
    problem,
    sealed,
)
from tokens.attester.issuer_keys import ISSUER_KEYS
from tokens.attester.models import Answer, Device, Handle, Issued
from tokens.attester.upkeep import upkeep

pytestmark = pytest.mark.django_db

ALREADY, NOT_ATTESTED = (409, "/problems/already-issued"), "/problems/not-attested"

LONGEST = max(CAPSULE_BYTES.values())


@pytest.fixture
def device() -> KeyedDevice:
    return KeyedDevice().enrolled()


def down(when: str = "before") -> Callable[[str, bytes], bytes]:
    """A network that loses requests ("before") or answers ("after")."""

    def breaks(at: str, body: bytes) -> bytes:
        if at == when:
            raise TimeoutError
        return body

    return breaks


def rows() -> int:
    return sum(model.objects.count() for model in (Answer, Handle, Issued))


class TestDevices:
    def test_device_gets_a_token_of_each_signed_recipe(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        for number, recipe in enumerate((RECIPE, OTHER_RECIPE), start=1):
            asked = ask(issuer, recipe)
            answer = device.post(asked.capsule)
            assert (answer.status_code, answer["Content-Type"]) == (200, "message/ohttp-res")
            token = asked.token(answer.content)
            issuance.verify(issuer.recipes[recipe][1].public, asked.pending.input.challenge_digest, token)
            assert (Issued.objects.count(), issuer.issued) == (number, number)

    def test_same_capsule_gets_same_answer_unasked(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        """Signed anew, and replayed as it was."""
        capsule = ask(issuer).capsule
        headers = device.headers(capsule)
        answers = {device.post(capsule).content, *(post(capsule, headers).content for _ in range(2))}
        assert (len(answers), len(issuer.asked)) == (1, 1)

    def test_another_capsule_of_a_recipe_is_refused(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer)
        device.post(asked.capsule)
        assert problem(device.post(ask(issuer).capsule)) == ALREADY
        assert (len(issuer.handles), issuer.withheld) == (2, set())
        device.post(ask(issuer, OTHER_RECIPE).capsule)
        assert issuer.issued == 2
        assert not Handle.objects.filter(withheld=True, told=False).exists()

    def test_answer_lost_for_days_is_given_once_more(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer)
        first = asked.token(device.post(asked.capsule).content)
        upkeep(now=timezone.now() + timedelta(days=2))
        assert not Answer.objects.exists()
        assert asked.token(device.post(asked.capsule).content) == first
        # The same blinded message under another key of the issuer's is the same token.
        issuer.rotate()
        anew = sealed(issuer.config, asked.pending)
        assert anew.token(device.post(anew.capsule).content) == first
        assert problem(device.post(ask(issuer).capsule)) == ALREADY
        assert (Issued.objects.count(), issuer.issued) == (1, 2)

    def test_message_of_another_device_is_given_to_none(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        """Whether that one was handed out a token for it, which stays counted, or it was withheld."""
        other = KeyedDevice().enrolled("other")
        handed_out, withheld = ask(issuer), ask(issuer)
        device.post(handed_out.capsule)
        other.post(ask(issuer).capsule)
        assert problem(other.post(withheld.capsule)) == ALREADY
        assert problem(other.post(sealed(issuer.config, handed_out.pending).capsule)) == ALREADY
        third = KeyedDevice().enrolled("third")
        used = problem(third.post(sealed(issuer.config, withheld.pending).capsule))
        assert used == (409, "/problems/request-used")
        asked = ask(issuer)
        assert asked.token(third.post(asked.capsule).content)
        call_command("attester_upkeep")
        assert issuer.issued == 3

    def test_request_the_issuer_refuses_leaves_nothing(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer, "c" * 64)
        answer = device.post(asked.capsule)
        assert (answer.status_code, rows()) == (200, 0)
        assert Response.decode(asked.context.open(answer.content)).status == 404

    @pytest.mark.parametrize("clock", [-86_400, 86_400])
    def test_device_whose_clock_is_a_day_off_gets_its_token(self, issuer: FakeIssuer, clock: int) -> None:
        asked = ask(issuer)
        assert asked.token(KeyedDevice(clock).enrolled().post(asked.capsule).content)

    def test_new_key_of_a_device_gets_no_second_token(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer)
        device.post(asked.capsule)
        new = KeyedDevice().enrolled()
        assert problem(new.post(ask(issuer).capsule)) == ALREADY
        assert problem(device.post(ask(issuer).capsule)) == (403, NOT_ATTESTED)
        call_command("attester", "revoke", "one")
        for capsule in (asked.capsule, ask(issuer, OTHER_RECIPE).capsule):
            assert problem(new.post(capsule)) == (403, NOT_ATTESTED)

    def test_device_that_asks_too_often_is_told_when_to_come_again(
        self, issuer: FakeIssuer, device: KeyedDevice, settings: Any
    ) -> None:
        settings.DEVICE_REQUESTS = 2
        capsule = ask(issuer).capsule
        assert [device.post(capsule).status_code for _ in range(2)] == [200, 200]
        refused = device.post(capsule)
        assert problem(refused) == (429, "/problems/too-many-requests")
        assert 0 < int(refused["Retry-After"]) <= 3_601
        assert KeyedDevice().enrolled("other").post(ask(issuer).capsule).status_code == 200


class TestRefused:
    def test_forged_missing_foreign_signatures_fail(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        capsule, other = ask(issuer).capsule, ask(issuer).capsule
        signed, strange = device.headers(capsule), KeyedDevice()
        named = {KEY_HEADER: base64_text.encode(device.public)}
        assert problem(post(capsule, {})) == (401, NOT_ATTESTED)
        for headers in (
            named,
            {**strange.headers(capsule), **named},
            strange.headers(capsule),
            device.headers(other),
            {**signed, "Content-Digest": ""},
        ):
            assert problem(post(capsule, headers)) == (403, NOT_ATTESTED)
        assert (issuer.asked, rows()) == ([], 0)

    @pytest.mark.parametrize(
        ("length", "content_type", "status"),
        [
            (LONGEST - 1, "message/ohttp-req", 400),
            (LONGEST + 1, "message/ohttp-req", 413),
            (10 * 1024 * 1024, "message/ohttp-req", 413),
            (LONGEST, "text/plain", 415),
        ],
    )
    def test_capsule_of_another_length_or_type_is_refused_at_once(
        self, issuer: FakeIssuer, device: KeyedDevice, length: int, content_type: str, status: int
    ) -> None:
        assert device.post(bytes(length), **{"Content-Type": content_type}).status_code == status
        assert issuer.asked == []
        assert Client().get("/attester/token").status_code == 405


class TestIssuer:
    def test_keys_are_the_same_for_everybody_and_fetched_once(self, issuer: FakeIssuer) -> None:
        answers = [Client().get("/attester/issuer-keys") for _ in range(3)]
        assert len({(answer.content, answer["Panapp-Key-Signature"]) for answer in answers}) == 1
        assert issuer.fetched == 1
        assert answers[0]["Content-Type"] == "application/ohttp-keys"
        assert 590 <= int(answers[0]["Cache-Control"].removeprefix("max-age=")) <= 600
        assert Client().post("/attester/issuer-keys").status_code == 405

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_issuer_that_does_not_answer_is_asked_again_for_the_same_token(
        self, issuer: FakeIssuer, device: KeyedDevice, when: str
    ) -> None:
        asked = ask(issuer)
        issuer.breaks = down(when)
        answer = device.post(asked.capsule)
        assert problem(answer) == (503, "/problems/unavailable")
        assert int(answer["Retry-After"]) > 0
        assert rows() == 0
        if when == "before":
            ISSUER_KEYS.forget()
            assert Client().get("/attester/issuer-keys").status_code == 503
        issuer.breaks = lambda at, body: body
        assert asked.token(device.post(asked.capsule).content)
        assert issuer.issued == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"element": base64_text.encode(bytes(33))},
            {"element": base64_text.encode(b"\2" + b"\xff" * 32)},
            {"element": base64_text.encode(b"\2" * 32)},
            {"element": ""},
            {"element": None},
            {"element": 1},
            {"handle": None},
            {"handle": base64_text.encode(bytes(15))},
            {"capsule": ""},
            {"capsule": None},
            {"capsule": base64_text.encode(bytes(70_000))},
            {"more": ""},
            {"element": "echo"},
            b"nonsense",
            b"[]",
            b"null",
            b"[" * 100_000,
            b'{"element": null, "handle": null, "capsule": "AA==", "capsule": "AA=="}',
        ],
    )
    def test_nonsense_leaves_no_trace(self, issuer: FakeIssuer, device: KeyedDevice, changes: Any) -> None:
        def broken(at: str, body: bytes) -> bytes:
            if at == "before" or isinstance(changes, bytes):
                return changes if at == "after" else body
            content = {**json.loads(body), **changes}
            if content["element"] == "echo":
                content["element"] = base64_text.encode(issuer.asked[-1])
            return json.dumps(content).encode()

        issuer.breaks = broken
        assert problem(device.post(ask(issuer).capsule)) == (502, "/problems/issuer-failed")
        assert rows() == 0

    def test_foreign_answer_fails(self, issuer: FakeIssuer, device: KeyedDevice, settings: Any) -> None:
        settings.ISSUER_KEY = FakeIssuer().verification_key
        assert device.post(ask(issuer).capsule).status_code == 503
        assert Client().get("/attester/issuer-keys").status_code == 502
        assert rows() == 0

    def test_attester_whose_clock_is_wrong_hands_out_and_loses_nothing(
        self, issuer: FakeIssuer, device: KeyedDevice, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, now = ask(issuer), timezone.now
        with monkeypatch.context() as wrong:
            wrong.setattr(timezone, "now", lambda: now() + timedelta(days=1))
            assert problem(device.post(asked.capsule)) == (503, "/problems/unavailable")
        assert rows() == 0
        assert asked.token(device.post(asked.capsule).content)

    def test_attester_asking_twice_is_counted_once(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer)
        first = asked.token(device.post(asked.capsule).content)
        # As if its database had been restored from before.
        for model in (Answer, Handle, Issued):
            model.objects.all().delete()
        assert asked.token(device.post(asked.capsule).content) == first
        assert issuer.issued == 1

    def test_retired_key_has_devices_fetch_keys_anew(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        before = Client().get("/attester/issuer-keys")
        asked = ask(issuer)
        issuer.rotate()
        assert Client().get("/attester/issuer-keys").content == before.content
        assert problem(device.post(asked.capsule)) == (400, KEY_PROBLEM)
        after = Client().get("/attester/issuer-keys")
        assert after.content != before.content
        assert rows() == 0
        anew = sealed(issuer.config, asked.pending)
        assert anew.token(device.post(anew.capsule).content)


class TestUpkeep:
    def test_upkeep_erases_answers_of_past_days_and_tells_what_was_withheld(
        self, issuer: FakeIssuer, device: KeyedDevice, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for _ in range(3):
            device.post(ask(issuer).capsule)
        # The test may run at midnight.
        today = Answer.objects.values_list("day", flat=True)[0]
        call_command("attester_upkeep")
        assert "notified of 1 withheld" in capsys.readouterr().out
        assert (issuer.issued, len(issuer.withheld)) == (1, 2)
        ends = datetime.combine(today + timedelta(days=2), time(), UTC)
        upkeep(now=ends - timedelta(seconds=1))
        assert Answer.objects.count() == 1
        upkeep(now=ends)
        assert Answer.objects.count() == 0

    def test_upkeep_without_issuer_deletes_and_says_so(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        device.post(ask(issuer).capsule)
        Answer.objects.update(day=timezone.now().date() - timedelta(days=2))
        issuer.breaks = down()
        with pytest.raises(CommandError, match="What was due is deleted"):
            call_command("attester_upkeep")
        assert not Answer.objects.exists()


class TestRows:
    def test_no_row_links_devices_to_tokens_or_times(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        kinds = {
            model: {field.name: field.get_internal_type() for field in model._meta.concrete_fields}
            for model in (Device, Issued, Handle, Answer)
        }
        types = {kind for fields in kinds.values() for kind in fields.values()}
        assert not types & {"DateTimeField", "TimeField", "ForeignKey", "GenericIPAddressField"}
        before = {field: getattr(Device.objects.get(), field) for field in kinds[Device]}
        device.post(ask(issuer).capsule)
        # Nothing of a device changes because it asked.
        assert {field: getattr(Device.objects.get(), field) for field in kinds[Device]} == before
        values = [bytes(Device.objects.get().pseudonym), device.public]
        stored = [
            value
            for model in (Issued, Handle, Answer)
            for row in model.objects.values_list()
            for value in row
            if isinstance(value, bytes | memoryview)
        ]
        assert not any(value in bytes(each) for each in stored for value in values)
        for model in (Device, Issued, Handle, Answer):
            # Of 62 random bits: below 2^36 with probability 2^-26 each, for all four 6e-8.
            assert min(model.objects.values_list("pk", flat=True)) > 2**36
