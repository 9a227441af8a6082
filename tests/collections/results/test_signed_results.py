"""Results are signed, their hash is in the log, and a stranger can check both offline."""

import base64
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from log.audit.models import Entry
from log.audit.operations import entry_append
from log.public_log.models import Tree
from log.public_log.selectors import site_policy
from log.public_log.tree_growth import integrate
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import ED25519, VerifierKey
from panprivacy.recipe.log.__main__ import main
from panprivacy.recipe.log.checks import check
from panprivacy.recipe.signed_result import (
    CONTEXT,
    ResultRefusedError,
    result_hash,
    signed_bytes,
    verify_result,
)
from publishing.publication import recipe_close
from recipes.models import Recipe
from results import rates
from results.actions import RESULT_RELEASED
from results.documents import SOFTWARE
from results.operations import result_release, result_withhold
from results.rates import result_allow
from storage.signing_key import signing_key, verification_key
from tests.collections.results.test_release_operations import collected
from tests.factories import published_recipe
from tests.scenes import closed_stream, finished_recipe, open_recipe, open_stream, simulated_recipe

pytestmark = pytest.mark.django_db


def served(recipe: Recipe, path: str) -> bytes:
    response: Any = Client().get(f"/api/v1/{path.format(recipe.identifier)}")
    assert response.status_code == 200
    return response.getvalue() if response.streaming else response.content


def result_of(recipe: Recipe) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(served(recipe, "recipes/{}/result/"))
    return found


@pytest.fixture
def recipe() -> Recipe:
    made = finished_recipe([[1]] * 6)
    integrate()
    return made


@pytest.fixture
def files(recipe: Recipe, tmp_path: Path) -> dict[str, Path]:
    key = VerifierKey(Tree.objects.get().origin, ED25519, verification_key().public_bytes_raw())
    contents = {
        "policy": f"log {key.text}\nquorum none\n".encode(),
        "recipe": served(recipe, "recipes/{}/"),
        "recipe proof": served(recipe, "recipes/{}/proof/"),
        "result": served(recipe, "recipes/{}/result/"),
        "result proof": served(recipe, "releases/{}/proof/"),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


def verify(files: dict[str, Path], what: str, proof: str = "") -> int:
    found = files[proof or f"{what} proof"]
    return main(["verify", str(files[what]), "--proof", str(found), "--policy", str(files["policy"])])


def test_the_served_result_is_signed_and_the_log_has_its_hash(recipe: Recipe) -> None:
    result = result_of(recipe)
    verify_result(result, verification_key())
    entry = Entry.objects.get(action="result_released", subject=recipe.identifier)
    promised = {name: result["recipe"][name] for name in ("epsilon", "delta", "cohort_size")}
    assert entry.details == {"reports": result["reports"], **promised, "result": result_hash(result)}


def test_a_changed_result_does_not_verify(recipe: Recipe) -> None:
    result = result_of(recipe)
    for change in (
        *({"reports": 7}, {"estimate": [1.0]}, {"guarantees": []}),
        *({"more": 1}, {"truth": [1.0]}, {"devices": 9}),
    ):
        with pytest.raises(ResultRefusedError):
            verify_result(result | change, verification_key())
    # What only a simulation knows is not signed.
    simulated = result_of(simulated_recipe({0: 3, 1: 3}))
    assert simulated["truth"]
    verify_result(simulated, verification_key())


def test_files_are_verified_offline(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert (verify(files, "recipe"), verify(files, "result")) == (3, 3)
    said = capsys.readouterr().out
    assert said.count("OPEN ") == 2, "no witness, and nothing else"
    assert "only a check of the whole log shows" in said
    assert "The log has the hash of exactly this result." in said
    assert "No witness vouches for it" in said


def _held(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    recipe = collected(1, 1, 0, 1, 0, 1)
    monkeypatch.setattr(rates, "has_tokens", lambda _: True)
    monkeypatch.setattr(rates, "issued_of", lambda _: 5)
    assert result_release(recipe=recipe) is None
    result_allow(recipe=recipe, reason="one attester counts twice", actor=None)
    result_release(recipe=recipe)
    return recipe


def _withheld(_: pytest.MonkeyPatch) -> Recipe:
    recipe = recipe_close(recipe=open_recipe([1, 1]), actor=None)
    result_withhold(recipe=recipe, reason="it takes too long", actor=None)
    return recipe


@pytest.mark.parametrize(
    ("make", "outcome", "signers"),
    [
        (_held, "released", ["Server"]),
        (_withheld, "withheld", []),
        (lambda _: finished_recipe([[1]], cohort_size=5), "withheld", []),
        (lambda _: closed_stream(open_stream([1, 2, 3])), "released", []),
    ],
    ids=["held and let pass", "withheld", "too few", "stream"],
)
def test_every_kind_of_outcome_is_verified_offline(
    make: Callable[[pytest.MonkeyPatch], Recipe],
    outcome: str,
    signers: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = make(monkeypatch)
    integrate()
    result = result_of(recipe)
    assert (result["outcome"], result["software"]) == (outcome, SOFTWARE)
    assert [server["name"] for server in result["servers"] if server["signature"]] == signers
    content = json.dumps(result).encode()
    told = check(content, served(recipe, "releases/{}/proof/"), site_policy()).sentences
    assert "The log has the hash of exactly this result." in told
    assert any(line.startswith("The number of reports") for line in told) == bool(signers)
    downloaded: Any = Client().get(f"/recipes/{recipe.identifier}/result.json")
    assert json.loads(downloaded.getvalue()) == result


def test_what_does_not_hold_is_named(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for what, proof, change, said in (
        ("result", "recipe proof", (b"", b""), "another entry of the log"),
        ("recipe", "result proof", (b"", b""), "another entry of the log"),
        ("result", "", (b'"outcome"', b'"outcame"'), "neither a recipe"),
        ("result", "", (b'"reports": 6', b'"reports": 7'), "signature is not the site's"),
        ("recipe", "", (b'"format"', b'"farmat"'), "not the SHA-256 of the recipe"),
        ("result", "", (b'"reports": 6', b'"reports": 7, "reports": 6'), "'reports' twice"),
        ("recipe", "", (b"{", b"["), "not a JSON object"),
    ):
        content = files[what].read_bytes()
        assert change[0] in content
        files[what].write_bytes(content.replace(*change) if change[0] else content)
        assert verify(files, what, proof) == 1
        assert said in capsys.readouterr().out
        files[what].write_bytes(content)
    proof = files["result proof"].read_text().split("\n")
    entry = json.loads(base64.b64decode(proof[1].removeprefix("extra ")))
    entry["details"]["result"] = "0" * 64
    proof[1] = f"extra {base64.b64encode(json.dumps(entry).encode()).decode()}"
    files["result proof"].write_text("\n".join(proof))
    assert verify(files, "result") == 1
    assert "the proof does not hold" in capsys.readouterr().out


def test_a_file_alone_is_checked_too(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    proof, policy = ["--proof", str(files["result proof"])], ["--policy", str(files["policy"])]
    for given, code, said, is_open in (
        ([], 3, "has this identifier", ("whether the public log", "who signed it")),
        (proof, 3, "hash of exactly this result", ("who signed it",)),
        (policy, 3, "site's signature of the result holds", ("whether the public log",)),
        (proof + policy, 3, "as of the", ("no witness",)),
    ):
        assert main(["verify", str(files["result"]), *given]) == code
        out = capsys.readouterr().out
        assert said in out
        lines = [line.lower() for line in out.splitlines() if line.startswith("OPEN")]
        assert len(lines) == len(is_open)
        assert all(words in line for words, line in zip(is_open, lines, strict=True))
    for given in ([], policy):
        assert main(["verify", str(files["result proof"]), *given]) == 3
        assert '"action": "result_released"' in capsys.readouterr().out
    # Without a policy, too, a file that contradicts itself does not hold.
    files["result"].write_bytes(files["result"].read_bytes().replace(b'"cohort_size": ', b'"cohort_size": 9'))
    assert main(["verify", str(files["result"])]) == 1


def test_every_file_that_is_cut_short_or_foreign_is_refused(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    for name, path in files.items():
        content = path.read_bytes()
        if name == "policy":
            continue
        beside = [] if "proof" in name else ["--proof", str(files[f"{name} proof"])]
        for size in (0, 1, len(content) // 3, len(content) // 2, len(content) - 2):
            cut.write_bytes(content[:size])
            assert main(["verify", str(cut), *beside, "--policy", str(files["policy"])]) == 1
            assert capsys.readouterr().out.startswith("FAILED  ")
    for content in (b"\xff\x00", b"[1, 2]", b"{}", b"[" * 100_000, b"\x1b[2J"):
        cut.write_bytes(content)
        assert main(["verify", str(cut)]) == 1
        assert "\x1b" not in capsys.readouterr().out
    missing = str(tmp_path / "missing")
    cut.write_text("log nonsense")
    for wrong in ([missing], [str(cut), "--policy", str(cut)], [str(cut), "--proof", str(tmp_path)]):
        assert main(["verify", *wrong]) == 2
        assert capsys.readouterr().out.startswith("ERROR   ")


def test_a_result_that_was_changed_and_signed_again_is_found(
    recipe: Recipe, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The site's own key does not help who changes a result after its release."""
    forged = result_of(recipe) | {"estimate": [0.0]}
    forged["signature"] = base64.b64encode(signing_key().sign(CONTEXT + signed_bytes(forged))).decode()
    files["result"].write_text(json.dumps(forged))
    assert verify(files, "result") == 1
    assert "the log has another result" in capsys.readouterr().out


def test_a_result_with_a_second_entry_is_found_and_the_first_stays(recipe: Recipe) -> None:
    first = served(recipe, "releases/{}/proof/")
    entry_append(action=RESULT_RELEASED, subject=recipe.identifier, actor=None, details={"result": "9" * 64})
    integrate()
    with pytest.raises(CommandError, match="two results"):
        call_command("log", "verify", stdout=StringIO())
    assert Proof.decode(served(recipe, "releases/{}/proof/")).extra == Proof.decode(first).extra


def test_there_is_no_proof_of_what_is_not_in_the_log() -> None:
    recipe = published_recipe()
    for path in (f"recipes/{recipe.identifier}", f"releases/{recipe.identifier}"):
        response = Client().get(f"/api/v1/{path}/proof/")
        assert (response.status_code, response.json()["type"]) == (404, "/problems/not-logged-yet")
