"""A device believes that a target is large only by a released result that the log has, and fails closed."""

import json

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.log_check import LogCheck, LogRefusedError
from devices_sim.target_check import TargetRefusedError, target_require
from devices_sim.transport import TransportError
from panprivacy import base64_text
from panprivacy.asked_target import CitedTarget
from panprivacy.signed_result import CONTEXT, result_hash, signed_bytes
from panprivacy.targeting.target import Target
from panprivacy.transparency.policy import Policy
from tests.devices_sim.in_process import InProcessTransport
from tests.devices_sim.public_log import WITHOUT_WITNESSES, MemoryLog, other_entries
from tests.devices_sim.server import SIGNING_KEY
from tests.panprivacy.targeting.results import categories_recipe, cited, result_of

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

    def look(self, target=LINUX, log=CHECK, **changes):
        asked = {"population": "everyone", "simulation": False, **changes}
        citations = asked.pop("citations", {"os": self.citation})
        cited = CitedTarget(target=target, citations=citations, smallest=asked.pop("smallest", 90_000))
        target_require(cited, transport=InProcessTransport(self.log), log=log, **asked)


@pytest.fixture(scope="module")
def result():
    """100,000 reports of 200,000 devices, most of them with linux."""
    return signed(result_of(categories_recipe(), (70_000, 30_000, 20_000), 100_000))


def test_a_large_target_is_believed(result):
    Scene(result).look()


def test_a_target_that_is_not_surely_large_enough_is_refused(result):
    with pytest.raises(TargetRefusedError, match="are sure"):
        Scene(result).look(smallest=150_000)


def test_without_a_log_nothing_is_believed(result):
    with pytest.raises(LogRefusedError, match="policy"):
        Scene(result).look(log=None)


def test_a_forged_result_is_refused(result):
    """Larger estimates under the site's old signature, with an entry that goes with them."""
    forged = {**result, "estimate": [2 * value for value in result["estimate"]]}
    with pytest.raises(LogRefusedError, match="signature"):
        Scene(forged).look()
    with pytest.raises(LogRefusedError, match="signature"):
        Scene(signed(forged, OTHER_KEY)).look()


def test_a_result_for_this_device_alone_is_refused(result):
    """The site signs larger numbers for one device; the log has what everybody sees."""
    with pytest.raises(LogRefusedError, match="another result"):
        Scene(signed({**result, "reports": 110_000}), entered=entry_of(result)).look()


def test_another_result_than_the_cited_one_is_refused(result):
    """Signed and in the log, but not what the recipe cites."""
    other = signed({**result, "reports": 110_000})
    with pytest.raises(TargetRefusedError, match="another hash"):
        Scene(other, citation=cited(result)).look()


def test_a_withheld_result_is_refused(result):
    """The log vouches for it as for a released one."""
    withheld = signed({**result, "outcome": "withheld"})
    with pytest.raises(TargetRefusedError, match="released no result"):
        Scene(withheld, entered=entry_of(withheld, "result_withheld")).look()


def test_an_entry_about_something_else_is_refused(result):
    with pytest.raises(LogRefusedError, match="another entry"):
        Scene(result, entered=entry_of(result, "recipe_published")).look()


def test_a_result_of_another_population_or_attribute_is_refused(result):
    with pytest.raises(TargetRefusedError, match="population"):
        Scene(result).look(population="clinics")
    scene = Scene(result)
    with pytest.raises(TargetRefusedError, match=r"target\.region"):
        scene.look(Target({"region": "linux"}), citations={"region": scene.citation})


def test_a_result_that_is_not_there_is_waited_for(result):
    later = cited(result_of(categories_recipe(name="Later"), (1, 2, 3), 1_000))
    with pytest.raises(TransportError):
        Scene(result).look(citations={"os": later})
