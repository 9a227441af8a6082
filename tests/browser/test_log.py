"""The browser itself verifies entries, results and the whole tree, and says where something does not hold."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import Route, expect

from log.audit.actions import ACCESS_DENIED
from log.audit.models import Entry
from log.audit.operations import entry_append
from log.audit.selectors import entries_of_recipe
from log.public_log.models import Cosignature, SignedCheckpoint
from log.public_log.selectors import log_verifier_key
from log.public_log.tree_growth import integrate
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, Note, VerifierKey
from panprivacy.protocols.transparency.tiles import decode_bundle, encode_bundle
from recipes.actions import RECIPE_CLOSED
from tests.scenes import simulated_recipe

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Route], None]:
    def answer(route: Route) -> None:
        fetched = route.fetch()
        route.fulfill(response=fetched, body=change(fetched.body()))

    return answer


def _one_bit(body: bytes) -> bytes:
    return body[:-1] + bytes([body[-1] ^ 1])


def _another_number(body: bytes) -> bytes:
    document: dict[str, Any] = json.loads(body)
    return json.dumps(document | {"reports": document["reports"] + 1}).encode()


def _unsigned(body: bytes) -> bytes:
    # The last letters of the base64 text hold bits of the signature.
    return body[:-8] + (b"AAAA" if body[-8:-4] != b"AAAA" else b"BBBB") + body[-4:]


def _unsigned_by_the_log(body: bytes) -> bytes:
    *lines, signature, cosignature = body.splitlines(keepends=True)
    return b"".join([*lines, _unsigned(signature), cosignature])


def _result_twice(body: bytes) -> bytes:
    entries = decode_bundle(body)
    results = [entry for entry in entries if b'"result_released"' in entry]
    return encode_bundle([*results, *results, *entries][: len(entries)])


NAME = "helper.example/log"


def _witnessed(settings: Any) -> None:
    """A witness that this site asks for has signed the newest checkpoint."""
    witness = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
    key = VerifierKey(NAME, COSIGNATURE, witness.public_key().public_bytes_raw())
    text = f"log {log_verifier_key().text}\nwitness helper {key.text}\nquorum helper\n"
    settings.LOG_POLICY = Policy.parse(text.encode())
    newest = SignedCheckpoint.objects.latest("size")
    signed = Checkpoint.parse(Note.decode(newest.note.encode()).text)
    line = cosign(signed, NAME, witness, time=1_790_000_000).line
    Cosignature.objects.create(checkpoint=newest, witness=NAME, line=line)


def test_browser_verifies_what_is_in_the_log_and_refuses_changes(visit: Visit, settings: Any) -> None:
    recipe = simulated_recipe({0: 40, 1: 20, 2: 5}, statistic="histogram", k=2)
    for number in range(260):  # so that there are tiles above the first
        entry_append(action=ACCESS_DENIED, subject=str(number), actor=None, details={})
    size = integrate()
    _witnessed(settings)
    released = Entry.objects.get(subject=recipe.identifier, action="result_released").index
    own = entries_of_recipe(recipe.identifier).count()
    visitor = visit()
    page = visitor.open(f"/recipes/{recipe.identifier}/verify/")
    outcome = page.locator("#verification .outcome")
    steps = page.locator("#verification .steps")
    holds = f"All checks hold: all {own} entries about this recipe are in the public log, unchanged."

    def verify(button: str) -> None:
        page.get_by_role("button", name=button, exact=True).click()

    def refused(pattern: str, change: Callable[[bytes], bytes], button: str, words: str) -> None:
        """Refused after a click on this button; without one, as soon as the page is loaded."""
        page.route(pattern, _changed(change))
        verify(button) if button else page.reload()
        expect(outcome).to_contain_text(words)
        expect(outcome).to_have_class("outcome error panel")
        page.unroute(pattern)

    # All entries of the recipe, without a click.
    expect(outcome).to_have_text(holds)
    expect(outcome).to_have_class("outcome good panel")
    expect(steps).to_contain_text("The log's key signed it.")
    expect(steps).to_contain_text(f"The witness {NAME} signed it at 2026-09-21T14:13:20.000Z.")
    expect(steps).to_contain_text("The identifier is the SHA-256 of the recipe that the site serves.")
    expect(steps).to_contain_text("The entry has the SHA-256 of the result that the site serves.")
    expect(steps).to_be_hidden()
    page.get_by_text("Each step").click()
    expect(steps).to_be_visible()
    assert violations(visitor) == []
    refused("**/log/tile/0/**", _one_bit, "", "Not verified. The last hash is not the root")
    expect(steps).to_be_visible()
    refused("**/log/tile/entries/**", lambda body: body.replace(b'"at"', b'"aT"'), "", "another hash")
    refused("**/log/checkpoint", _unsigned, "", f"signature of the witness {NAME} does not hold")
    refused("**/log/checkpoint", _unsigned_by_the_log, "", "no valid signature by the log's key")
    refused("**/api/v1/recipes/*/result/", _another_number, "", "another result than the entry says")

    # As long as a result with a count of each of many items.
    page.route("**/api/v1/recipes/*/result/", _changed(lambda body: body + b" " * 2**21))
    page.reload()
    expect(outcome).to_have_text(holds)
    page.unroute("**/api/v1/recipes/*/result/")

    # An entry that the tree does not have yet is no fault.
    before = page.request.get(f"{visitor.address}/log/checkpoint").body()
    entry_append(action=RECIPE_CLOSED, subject=recipe.identifier, actor=None, details={})
    page.route("**/log/checkpoint", _changed(lambda body: before))
    page.reload()
    expect(outcome).to_have_text("An entry is not in the tree yet. Try again in some seconds.")
    expect(outcome).to_have_class("outcome")
    page.unroute("**/log/checkpoint")
    size = integrate()

    visitor.open("/log/")
    entry = f"Verify in this page: entry {released}"
    verify(entry)
    expect(outcome).to_have_text(f"All checks hold: entry {released} is in the log of {size} entries.")
    refused("**/log/tile/0/**", _one_bit, entry, "Not verified. The last hash is not the root")
    refused("**/api/v1/recipes/*/result/", _another_number, entry, "another result than the entry says")
    verify("Verify the whole tree")
    expect(outcome).to_have_text(f"All checks hold: the whole tree of {size} entries.")
    refused("**/log/tile/0/**", _one_bit, "Verify the whole tree", "of level 0 has another hash in place")
    refused("**/log/tile/1/**", _one_bit, "Verify the whole tree", "Tile 0 of level 1 has another hash")
    refused("**/log/tile/entries/**", _result_twice, "Verify the whole tree", "two results of one recipe")
    verify("Verify the whole tree")
    expect(outcome).to_have_class("outcome good panel")
    assert violations(visitor) == []

    # Over http there is no cryptography of the browser: the program brings its own.
    visitor = visit()
    visitor.context.add_init_script("Object.defineProperty(Crypto.prototype, 'subtle', {});")
    page = visitor.open(f"/recipes/{recipe.identifier}/verify/")
    outcome = page.locator("#verification .outcome")
    own += 1
    holds = f"All checks hold: all {own} entries about this recipe are in the public log, unchanged."
    expect(outcome).to_have_text(holds)
    refused("**/log/tile/0/**", _one_bit, "", "Not verified. The last hash is not the root")

    # Without scripts nothing is checked: the lines to paste are there.
    page = visit(java_script_enabled=False).open(f"/recipes/{recipe.identifier}/verify/")
    expect(page.get_by_role("button", name="Verify")).to_have_count(0)
    page.get_by_text("With this software").click()
    expect(page.locator("#verify-lines")).to_be_visible()
    expect(page.locator("#verify-lines")).to_contain_text("panprivacy.recipe.log verify result.json")
    needed = page.locator("#verification noscript p")
    expect(needed).to_be_visible()
    assert needed.text_content() == "This needs JavaScript."
