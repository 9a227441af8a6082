"""One token of a device and recipe, whatever device, attester and issuer do."""

import json
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from attester.models import Answer, Device, Handle, Issued
from attester.upkeep import upkeep
from panprivacy import base64_text
from panprivacy.attestation import CAPSULE_BYTES, KEY_HEADER
from panprivacy.oblivious_http.binary_http import Response
from panprivacy.oblivious_http.capsules import KEY_PROBLEM
from panprivacy.privacy_pass import issuance
from tests.collections.attester.scene import (
    OTHER_RECIPE,
    RECIPE,
    FakeIssuer,
    KeyedDevice,
    ask,
    post,
    problem,
    sealed,
)

pytestmark = pytest.mark.django_db

ALREADY, NOT_ATTESTED = (409, "/problems/already-issued"), "/problems/not-attested"


@pytest.fixture
def device() -> KeyedDevice:
    return KeyedDevice().enrolled()


def rows() -> int:
    return sum(model.objects.count() for model in (Answer, Handle, Issued))


class TestDevices:
    def test_device_gets_a_token_of_each_recipe_that_the_issuer_signed(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        for number, recipe in enumerate((RECIPE, OTHER_RECIPE), start=1):
            asked = ask(issuer, recipe)
            answer = device.post(asked.capsule)
            assert (answer.status_code, answer["Content-Type"]) == (200, "message/ohttp-res")
            token = asked.token(answer.content)
            issuance.verify(issuer.recipes[recipe][1].public, asked.pending.input.challenge_digest, token)
            assert (Issued.objects.count(), issuer.issued) == (number, number)

    def test_same_capsule_gets_the_same_answer_without_the_issuer(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer)
        first = device.post(asked.capsule)
        again = device.post(asked.capsule)
        assert first.content == again.content
        assert len(issuer.asked) == 1

    def test_another_capsule_of_the_same_recipe_is_refused_and_withheld_and_told_with_the_next(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer)
        device.post(asked.capsule)
        assert problem(device.post(ask(issuer).capsule)) == ALREADY
        assert (len(issuer.handles), issuer.withheld) == (2, set())
        device.post(ask(issuer, OTHER_RECIPE).capsule)
        assert issuer.issued == 2
        assert not Handle.objects.filter(withheld=True, told=False).exists()

    def test_answer_that_was_lost_for_days_is_given_to_the_same_request_again(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer)
        first = asked.token(device.post(asked.capsule).content)
        upkeep(now=timezone.now() + timedelta(days=2))
        assert not Answer.objects.exists()
        assert asked.token(device.post(asked.capsule).content) == first
        # The same blinded message under another key of the issuer's is the same token.
        issuer.rotate(2)
        anew = sealed(issuer.config, asked.pending)
        assert anew.token(device.post(anew.capsule).content) == first
        assert problem(device.post(ask(issuer).capsule)) == ALREADY
        assert (Issued.objects.count(), issuer.issued) == (1, 2)

    def test_devices_that_share_a_blinded_message_take_nothing_from_the_count(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        other = KeyedDevice().enrolled("other")
        shared, own = ask(issuer), ask(issuer)
        device.post(shared.capsule)
        other.post(own.capsule)
        # It has its own: what the first one was handed out stays counted.
        assert problem(other.post(sealed(issuer.config, shared.pending).capsule)) == ALREADY
        call_command("attester_upkeep")
        assert issuer.issued == 2

    def test_blinded_message_that_was_withheld_from_one_device_is_handed_out_to_none(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        other, shared = KeyedDevice().enrolled("other"), ask(issuer)
        other.post(ask(issuer).capsule)
        assert problem(other.post(shared.capsule)) == ALREADY
        assert problem(device.post(sealed(issuer.config, shared.pending).capsule)) == (
            409,
            "/problems/request-used",
        )
        asked = ask(issuer)
        assert asked.token(device.post(asked.capsule).content)
        assert issuer.issued == 2

    def test_request_that_the_issuer_refuses_inside_leaves_nothing_and_only_the_device_reads_why(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer, "c" * 64)
        answer = device.post(asked.capsule)
        assert (answer.status_code, rows()) == (200, 0)
        assert Response.decode(asked.context.open(answer.content)).status == 404

    @pytest.mark.parametrize("clock", [-86_400, 86_400])
    def test_device_whose_clock_is_wrong_by_a_day_gets_its_token(
        self, issuer: FakeIssuer, clock: int
    ) -> None:
        asked = ask(issuer)
        assert asked.token(KeyedDevice(clock).enrolled().post(asked.capsule).content)

    def test_new_key_of_a_device_gets_no_second_token(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        device.post(ask(issuer).capsule)
        assert problem(KeyedDevice().enrolled().post(ask(issuer).capsule)) == ALREADY
        assert problem(device.post(ask(issuer).capsule)) == (403, NOT_ATTESTED)

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
    def test_forged_missing_and_foreign_signatures_are_refused(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
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

    def test_replayed_request_gives_the_same_sealed_answer_and_nothing_else(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer)
        headers = device.headers(asked.capsule)
        answers = {post(asked.capsule, headers).content for _ in range(3)}
        assert (len(answers), len(issuer.asked)) == (1, 1)

    def test_revoked_device_gets_nothing_more(self, issuer: FakeIssuer, device: KeyedDevice) -> None:
        asked = ask(issuer)
        device.post(asked.capsule)
        call_command("attester", "revoke", "one")
        for capsule in (asked.capsule, ask(issuer, OTHER_RECIPE).capsule):
            assert problem(device.post(capsule)) == (403, NOT_ATTESTED)

    @pytest.mark.parametrize("length", [CAPSULE_BYTES - 1, CAPSULE_BYTES + 1, 10 * 1024 * 1024])
    def test_capsule_of_another_length_is_refused_before_anything_is_done(
        self, issuer: FakeIssuer, device: KeyedDevice, length: int
    ) -> None:
        status = device.post(bytes(length)).status_code
        assert status == (400 if length < CAPSULE_BYTES else 413)
        assert issuer.asked == []

    def test_other_methods_and_media_types_are_refused(self, device: KeyedDevice) -> None:
        assert device.post(bytes(CAPSULE_BYTES), **{"Content-Type": "text/plain"}).status_code == 415
        assert Client().get("/attester/token").status_code == 405
        assert Client().post("/attester/issuer-keys").status_code == 405


class TestIssuer:
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_issuer_that_does_not_answer_leaves_nothing_and_the_same_capsule_gets_its_token_later(
        self, issuer: FakeIssuer, device: KeyedDevice, when: str
    ) -> None:
        def down(at: str, body: bytes) -> bytes:
            if at == when:
                raise TimeoutError
            return body

        asked = ask(issuer)
        issuer.breaks = down
        answer = device.post(asked.capsule)
        assert problem(answer) == (503, "/problems/unavailable")
        assert int(answer["Retry-After"]) > 0
        assert rows() == 0
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
    def test_issuer_that_answers_nonsense_leaves_nothing(
        self, issuer: FakeIssuer, device: KeyedDevice, changes: Any
    ) -> None:
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

    def test_answer_that_somebody_else_signed_is_not_believed(
        self, issuer: FakeIssuer, device: KeyedDevice, settings: Any
    ) -> None:
        settings.ISSUER_KEY = FakeIssuer().verification_key
        assert device.post(ask(issuer).capsule).status_code == 503
        assert Client().get("/attester/issuer-keys").status_code == 502
        assert rows() == 0

    def test_attester_whose_clock_is_wrong_by_a_day_hands_nothing_out_and_loses_nothing(
        self, issuer: FakeIssuer, device: KeyedDevice, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, now = ask(issuer), timezone.now
        with monkeypatch.context() as wrong:
            wrong.setattr(timezone, "now", lambda: now() + timedelta(days=1))
            assert problem(device.post(asked.capsule)) == (503, "/problems/unavailable")
        assert rows() == 0
        assert asked.token(device.post(asked.capsule).content)

    def test_attester_that_asks_again_for_the_same_capsule_is_counted_once(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        asked = ask(issuer)
        first = asked.token(device.post(asked.capsule).content)
        # As if its database had been restored from before.
        for model in (Answer, Handle, Issued):
            model.objects.all().delete()
        assert asked.token(device.post(asked.capsule).content) == first
        assert issuer.issued == 1

    def test_capsule_to_a_retired_key_is_answered_so_that_the_device_fetches_the_keys_anew(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        before = Client().get("/attester/issuer-keys")
        asked = ask(issuer)
        issuer.rotate(2)
        assert Client().get("/attester/issuer-keys").content == before.content
        assert problem(device.post(asked.capsule)) == (400, KEY_PROBLEM)
        after = Client().get("/attester/issuer-keys")
        assert after.content != before.content
        assert rows() == 0
        anew = sealed(issuer.config, asked.pending)
        assert anew.token(device.post(anew.capsule).content)

    def test_keys_are_the_same_for_everybody_and_fetched_once(self, issuer: FakeIssuer) -> None:
        answers = [Client().get("/attester/issuer-keys") for _ in range(3)]
        assert len({(answer.content, answer["Panapp-Key-Signature"]) for answer in answers}) == 1
        assert issuer.fetched == 1
        assert answers[0]["Content-Type"] == "application/ohttp-keys"
        assert 590 <= int(answers[0]["Cache-Control"].removeprefix("max-age=")) <= 600

    def test_keys_of_an_issuer_that_does_not_answer_are_a_503(self, issuer: FakeIssuer) -> None:
        def down(at: str, body: bytes) -> bytes:
            raise ConnectionRefusedError

        issuer.breaks = down
        assert Client().get("/attester/issuer-keys").status_code == 503


class TestUpkeep:
    def test_upkeep_erases_answers_of_past_days_and_tells_what_was_withheld(
        self, issuer: FakeIssuer, device: KeyedDevice, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for _ in range(3):
            device.post(ask(issuer).capsule)
        # The test may run at midnight.
        today = Answer.objects.values_list("day", flat=True)[0]
        call_command("attester_upkeep")
        assert "told of 1 withheld" in capsys.readouterr().out
        assert (issuer.issued, len(issuer.withheld)) == (1, 2)
        ends = datetime.combine(today + timedelta(days=2), time(), UTC)
        upkeep(now=ends - timedelta(seconds=1))
        assert Answer.objects.count() == 1
        upkeep(now=ends)
        assert Answer.objects.count() == 0

    def test_upkeep_without_an_issuer_deletes_all_the_same_and_says_so(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
        device.post(ask(issuer).capsule)
        Answer.objects.update(day=timezone.now().date() - timedelta(days=2))

        def down(at: str, body: bytes) -> bytes:
            raise ConnectionRefusedError

        issuer.breaks = down
        with pytest.raises(CommandError, match="What was due is deleted"):
            call_command("attester_upkeep")
        assert not Answer.objects.exists()


class TestRows:
    def test_no_row_has_a_time_finer_than_a_day_nor_links_a_device_to_what_it_got(
        self, issuer: FakeIssuer, device: KeyedDevice
    ) -> None:
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
