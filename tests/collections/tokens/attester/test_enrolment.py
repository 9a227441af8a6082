"""Who is a device: lists, one-time codes, revoking, and the commands for them."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.formats import base64_text
from tests.collections.tokens.attester.scene import FakeIssuer, KeyedDevice, ask, problem
from tokens.attester.enrolment import MOST_FAULTS, ListRefusedError, devices_read
from tokens.attester.models import Device, EnrolmentCode
from tokens.attester.upkeep import upkeep

pytestmark = pytest.mark.django_db


def text_of(device: KeyedDevice) -> str:
    return base64_text.encode(device.public)


def enrol(tmp_path: Path, *rows: str) -> str:
    """Output of `attester enrol` for a file with these lines below the columns."""
    path = tmp_path / "devices.csv"
    path.write_text("\n".join(("name,key", *rows)))
    return command("enrol", str(path))


def command(*arguments: str) -> str:
    output = io.StringIO()
    call_command("attester", *arguments, stdout=output)
    return output.getvalue()


def send_code(members: dict[str, Any]) -> HttpResponse:
    return Client().post("/attester/enrolments", json.dumps(members), "application/json")


MALFORMED = (
    *({}, {"code": 1, "key": "x"}, {"code": "x"}, {"code": "x", "key": 7}, {"code": "x", "key": "AAAA"}),
    [],
)


class TestLists:
    def test_list_enrols_and_the_same_list_again_changes_nothing(self, tmp_path: Path) -> None:
        one, two, new = KeyedDevice(), KeyedDevice(), KeyedDevice()
        rows = [f"one,{text_of(one)}", f"two,{text_of(two)}"]
        assert enrol(tmp_path, *rows) == "2 new, 0 with another key, 0 unchanged.\n"
        pseudonym = Device.objects.get(name="one").pseudonym
        assert enrol(tmp_path, *rows) == "0 new, 0 with another key, 2 unchanged.\n"
        assert enrol(tmp_path, f"one,{text_of(new)}") == "0 new, 1 with another key, 0 unchanged.\n"
        assert Device.objects.get(key=new.public).pseudonym == pseudonym
        entries = Entry.objects.order_by("index").values_list("action", "subject", "details")
        enrolled = ("devices_enrolled", "devices")
        assert list(entries) == [
            (*enrolled, {"new": 2, "replaced": 0}),
            (*enrolled, {"new": 0, "replaced": 1}),
        ]

    def test_faults_are_told_with_their_lines_and_then_nothing_is_enrolled(self, tmp_path: Path) -> None:
        good, other = text_of(KeyedDevice()), text_of(KeyedDevice())
        rows = [
            f"one,{good}",
            "two",
            f"three,{other},more",
            f",{other}",
            "four,AAAA",
            f"weak,{base64_text.encode(bytes(32))}",
            f"{'x' * 201},{other}",
            f"one,{other}",
            f"five,{good}",
        ]
        with pytest.raises(CommandError) as error:
            enrol(tmp_path, *rows)
        lines = str(error.value).splitlines()
        assert lines[0] == "Nothing was changed:"
        assert [line.split(":")[0] for line in lines[1:]] == [f"line {number}" for number in range(3, 11)]
        assert "line 7: key: must be an Ed25519 key of prime order" in lines
        assert lines[-1] == "line 10: key: is also in line 2"
        assert not Device.objects.exists()

    def test_keys_of_others_and_revoked_devices_are_refused(self, tmp_path: Path) -> None:
        one, two = KeyedDevice(), KeyedDevice()
        enrol(tmp_path, f"one,{text_of(one)}", f"two,{text_of(two)}")
        with pytest.raises(CommandError, match="three: its key is that of one"):
            enrol(tmp_path, f"three,{text_of(one)}")
        assert command("revoke", "one", text_of(two)) == "2 revoked.\n"
        assert command("revoke", "one") == "0 revoked. The others had been revoked before.\n"
        with pytest.raises(CommandError, match="one: was revoked"):
            enrol(tmp_path, f"one,{text_of(one)}")
        with pytest.raises(CommandError, match="nobody: no device has this name or key"):
            command("revoke", "nobody", "one")

    def test_many_faults_are_counted_and_not_all_told(self) -> None:
        with pytest.raises(ListRefusedError, match="and 5 more") as error:
            devices_read(io.BytesIO(b"name,key\n" + b"x\n" * (MOST_FAULTS + 5)))
        assert len(str(error.value).splitlines()) == MOST_FAULTS + 1

    @pytest.mark.parametrize(("columns", "line"), [("", 2), ("key,name", 1), ("name;key", 1)])
    def test_other_columns_are_refused(self, columns: str, line: int) -> None:
        with pytest.raises(ListRefusedError, match=f"line {line}: must be the header name,key"):
            devices_read(io.BytesIO(f"{columns}\none,two\n".encode()))

    def test_file_that_cannot_be_read_is_refused_and_standard_input_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(CommandError, match="file: cannot be read"):
            command("enrol", str(tmp_path / "nothing.csv"))
        content = f"name,key\none,{text_of(KeyedDevice())}\n".encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert command("enrol", "-").startswith("1 new")
        command("codes", "3")
        assert {"devices  1", "codes_unused  3"} <= set(command("counts").splitlines())

    def test_keys_are_exported_and_revoked_whatever_letter_they_begin_with(self, tmp_path: Path) -> None:
        """One of 64 begins with each: that 3,000 have not both has a probability of 1e-19 at most."""
        drawn = (text_of(KeyedDevice()) for _ in range(3_000))
        keys = [next(key for key in drawn if key[0] == first) for first in "+/"]
        enrol(tmp_path, f"=1+1,{keys[0]}", f"two,{keys[1]}")
        # A name that a spreadsheet would compute is text.
        assert command("export").splitlines()[1:] == [f"'=1+1,{keys[0]},no", f"two,{keys[1]},no"]
        assert command("revoke", *keys) == "2 revoked.\n"
        with pytest.raises(CommandError, match="-A: no device has this name or key"):
            command("revoke", "-A")


class TestCodes:
    def test_code_enrols_one_device_and_again_the_same_one(self, issuer: FakeIssuer) -> None:
        (code,) = command("codes", "1").split()
        device, other = KeyedDevice(), KeyedDevice()
        # As people type it.
        typed = {"code": f" {code.lower().replace('-', ' ')}", "key": text_of(device)}
        for _ in range(2):
            assert send_code(typed).json() == {"status": "enrolled"}  # type: ignore[attr-defined]  # of the test client
        assert Device.objects.count() == 1
        assert problem(send_code({"code": code, "key": text_of(other)})) == (403, "/problems/code-refused")
        asked = ask(issuer)
        assert asked.token(device.post(asked.capsule).content)
        # Nothing tells which device had which code, nor is anything of it in the log.
        assert code.encode() not in bytes(EnrolmentCode.objects.get().digest)
        assert [entry.action for entry in Entry.objects.all()] == ["enrolment_codes_made"]

    def test_key_that_is_known_does_not_use_a_code_up(self) -> None:
        first, second = command("codes", "2").split()
        device = KeyedDevice()
        assert send_code({"code": first, "key": text_of(device)}).status_code == 200
        assert problem(send_code({"code": second, "key": text_of(device)})) == (409, "/problems/key-known")
        assert send_code({"code": second, "key": text_of(KeyedDevice())}).status_code == 200

    @pytest.mark.parametrize("key", [bytes(32), b"\1" + bytes(31), b"\xee" + b"\xff" * 31], ids=bytes.hex)
    def test_key_under_which_anybody_signs_does_not_use_a_code_up(self, key: bytes) -> None:
        (code,) = command("codes", "1").split()
        answer = send_code({"code": code, "key": base64_text.encode(key)})
        assert problem(answer) == (400, "/problems/invalid-parameter")
        assert json.loads(answer.content)["field"] == "key"
        assert not Device.objects.exists()
        assert send_code({"code": code, "key": text_of(KeyedDevice())}).status_code == 200

    def test_code_that_was_never_made_or_is_too_old_is_refused(self) -> None:
        (code,) = command("codes", "1").split()
        upkeep(now=timezone.now() + timedelta(days=91))
        for refused in (code, "AAAAA-AAAAA-AAAAA-AAAAA", "", "\0", "\ud800", "ß" * 2_000):
            members = {"code": refused, "key": text_of(KeyedDevice())}
            assert problem(send_code(members)) == (403, "/problems/code-refused")

    def test_body_with_a_member_twice_is_refused_and_does_not_use_the_code(self) -> None:
        (code,) = command("codes", "1").split()
        device = KeyedDevice()
        members = json.dumps({"code": code, "key": text_of(device)})
        answer = Client().post("/attester/enrolments", f'{{"code": "x", {members[1:]}', "application/json")
        assert problem(answer) == (400, "/problems/invalid-parameter")
        assert answer.json()["detail"] == "code: occurs more than once."
        assert send_code(json.loads(members)).status_code == 200

    @pytest.mark.parametrize(
        ("body", "content_type", "refused"),
        [
            *((json.dumps(members), "application/json", (400, "malformed-body")) for members in MALFORMED),
            ("{", "application/json", (400, "malformed-body")),
            ("{}", "text/plain", (415, "unsupported-media-type")),
            ("x" * 20_000, "application/json", (413, "body-too-large")),
        ],
    )
    def test_bodies_that_are_not_what_they_must_be_are_refused(
        self, body: str, content_type: str, refused: tuple[int, str]
    ) -> None:
        status, kind = problem(Client().post("/attester/enrolments", body, content_type))
        assert (status, kind.removeprefix("/problems/")) == refused

    @pytest.mark.parametrize(
        ("kind", "number", "words"),
        [
            *(("roster", number, "number: must be 1 to 100,000") for number in ("0", "100001")),
            *((kind, "1", f"ATTESTATION is {kind}; codes are for roster") for kind in ("mtls", "trial")),
        ],
    )
    def test_codes_that_no_device_could_use_are_not_made(
        self, settings: Any, kind: str, number: str, words: str
    ) -> None:
        settings.ATTESTATION = kind
        with pytest.raises(CommandError, match=words):
            command("codes", number)
        assert not EnrolmentCode.objects.exists()


class TestPage:
    def test_page_shows_coarse_counts_and_never_who_or_when(self, issuer: FakeIssuer, client: Client) -> None:
        device = KeyedDevice().enrolled("tell-tale-name")
        command("codes", "37")
        device.post(ask(issuer).capsule)
        shown = client.get("/status.json").json()
        assert (shown["devices"], shown["tokens_handed_out"], shown["codes_unused"]) == (0, 0, 30)
        page = client.get("/").content.decode()
        for said in (
            "about 30",
            "few or none",
            "Keys of devices",
            "Devices enrolled from a list",
            "https://issuer.test/issuer",
        ):
            assert said in page
        assert "tell-tale-name" not in page + json.dumps(shown)

    def test_metrics_count_exactly(self, issuer: FakeIssuer, settings: Any, client: Client) -> None:
        from panapp.roles import role_named

        settings.ROLE = role_named("attester")
        device = KeyedDevice().enrolled()
        for _ in range(2):
            device.post(ask(issuer).capsule)
        lines = client.get("/metrics").content.decode().splitlines()
        assert {
            'panapp_attester_devices{state="known"} 1.0',
            'panapp_attester_devices{state="revoked"} 0.0',
            "panapp_attester_tokens 1.0",
            "panapp_attester_untold 1.0",
        } <= set(lines)
