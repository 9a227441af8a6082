"""A device believes that a target is large only by a released result that the log has, and fails closed."""

import json

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.log_check import LogCheck, LogRefusedError
from panprivacy.device.target_check import TargetRefusedError, target_require
from panprivacy.device.transport import TransportError
from panprivacy.formats import base64_text
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.recipe.signed_result import CONTEXT, result_hash, signed_bytes
from panprivacy.recipe.targeting.target import Target
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.public_log import WITHOUT_WITNESSES, MemoryLog, other_entries
from tests.panprivacy.device.server import SIGNING_KEY
from tests.panprivacy.recipe.targeting.results import categories_recipe, cited, result_of

POLICY = Policy.parse(WITHOUT_WITNESSES.encode())
CHECK = LogCheck(POLICY)
LINUX = Target({"os": "linux"})
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(3, 35)))


def signed(result, key=SIGNING_KEY):
    return {**result, "signature": base64_text.encode(key.sign(CONTEXT + signed_bytes(result)))}


def entry_of(result, action="result_released", **changes):
    details = {"result": result_hash(result), **changes}
    return rfc8785.dumps(
        {"action": action, "commitment": "0" * 64, "details": details, "subject": result["id"]}
    )


class Scene:
    """A site that serves a result, and a log with an entry about one."""

    def __init__(self, served, entered=None, citation=None):
        self.citation = citation or cited(served)
        body = json.dumps(served).encode()

        def site(environ, start_response):
            found = environ["PATH_INFO"].endswith(f"/recipes/{self.citation.recipe}/result/")
            start_response("200 OK" if found else "404 Not Found", [("Content-Type", "application/json")])
            return [body if found else b"{}"]

        entry = entry_of(served) if entered is None else entered
        self.log = MemoryLog([*other_entries(3), entry], 3, site)

    def check(self, target=LINUX, log=CHECK, **changes):
        asked = {"population": "everyone", "simulation": False, **changes}
        citations = asked.pop("citations", {"os": self.citation})
        cited = CitedTarget(target=target, citations=citations, smallest=asked.pop("smallest", 90_000))
        target_require(cited, transport=InProcessTransport(self.log), log=log, **asked)


@pytest.fixture(scope="module")
def result():
    """100,000 reports of 200,000 devices, most of them with linux."""
    return signed(result_of(categories_recipe(), (70_000, 30_000, 20_000), 100_000))


def test_a_large_target_is_believed(result):
    Scene(result).check()


def test_a_target_that_the_result_does_not_show_to_be_large_is_refused(result):
    scene = Scene(result)
    with pytest.raises(TargetRefusedError, match="are sure"):
        scene.check(smallest=150_000)
    with pytest.raises(TargetRefusedError, match="population"):
        scene.check(population="clinics")
    with pytest.raises(TargetRefusedError, match=r"target\.region"):
        scene.check(Target({"region": "linux"}), citations={"region": scene.citation})


def test_a_result_that_site_recipe_and_log_do_not_agree_about_is_refused(result):
    larger, withheld = signed({**result, "reports": 110_000}), signed({**result, "outcome": "withheld"})
    forged = {**result, "estimate": [2 * value for value in result["estimate"]]}
    for scene, kind, reason in (
        # Larger estimates under the site's old signature, with an entry that goes with them.
        (Scene(forged), LogRefusedError, "signature"),
        (Scene(signed(forged, OTHER_KEY)), LogRefusedError, "signature"),
        # The site signs larger numbers for one device; the log has what all devices see.
        (Scene(larger, entered=entry_of(result)), LogRefusedError, "another result"),
        # Signed and in the log, but not what the recipe cites.
        (Scene(larger, citation=cited(result)), TargetRefusedError, "another hash"),
        (Scene(result, entered=entry_of(result, "recipe_published")), LogRefusedError, "another entry"),
        # The log vouches for it as for a released one.
        (
            Scene(withheld, entered=entry_of(withheld, "result_withheld")),
            TargetRefusedError,
            "released no result",
        ),
    ):
        with pytest.raises(kind, match=reason):
            scene.check()


def test_without_a_log_nothing_is_believed(result):
    with pytest.raises(LogRefusedError, match="policy"):
        Scene(result).check(log=None)


def test_a_result_that_is_not_there_is_waited_for(result):
    later = cited(result_of(categories_recipe(name="Later"), (1, 2, 3), 1_000))
    with pytest.raises(TransportError):
        Scene(result).check(citations={"os": later})
