"""Taking in what devices send: each user counts once, and nothing that identifies the user is kept."""

from datetime import datetime
from secrets import SystemRandom

from django.db import transaction
from django.db.models import F

from panprivacy.encryption.interface import REPORT_NONCE_BYTES, InvalidCiphertextError, PublicKey
from panprivacy.formats import base64_text
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from panprivacy.recipe.statistic import statistic_as
from panprivacy.recipe.token import TokenRefusedError, token_require
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from shuffle.shuffler.models import Batch, Rejection, Submission, SubmissionNonce
from shuffle.shuffler.registrations import encryption_key_of
from web.problems import Problem
from web.strict_json import JSONRefusedError, json_of_base64

RANDOM = SystemRandom()

MEMBERS = ("nonce", "messages")
"""Of every body."""

SUBMISSION_CONTAINERS = 2
"""The object, and the list of its messages."""


def submission_accept(*, batch: Batch, body: bytes, now: datetime) -> None:
    """Store one user's messages, rerandomized, so that stored messages cannot be linked to those that came
    over a network.

    Args:
        body: JSON of `{"nonce": 16 bytes, "messages": [ciphertext, …]}`, bytes in base64, with as many
            messages as a user of the protocol sends, and `"token"` if the recipe asks for one. Bodies with
            the same nonce count once, and each is answered as the first was.

    Raises:
        Problem: nothing was stored.
    """
    recipe = recipe_of(batch.document)
    nonce, messages, token = _read(body, recipe)
    if recipe.admission is not None:
        _require_token(batch, recipe, token, nonce)
    # Checked before locking: expensive work is done only for users who may still be accepted.
    if _is_known(batch, nonce):
        return
    _require_capacity(batch, recipe, now)
    payload = _rerandomized(messages, encryption_key_of(batch.document))
    with transaction.atomic():
        batch = Batch.objects.select_for_update().get(pk=batch.pk)
        if _is_known(batch, nonce):
            return
        _require_capacity(batch, recipe, now)
        SubmissionNonce.objects.create(batch=batch, nonce=nonce)
        Submission.objects.create(batch=batch, payload=payload)
        batch.users += 1
        if batch.was_full:
            batch.state = Batch.State.FULL
        batch.save(update_fields=["users", "state"])


def _read(body: bytes, recipe: PublishedRecipe) -> tuple[bytes, list[bytes], bytes | None]:
    """Nonce, messages, and the token if there is one: never if any device may report."""
    statistic = statistic_as(recipe, ShuffleStatistic)
    fewest, most = statistic.fewest_messages, statistic.most_messages
    expected = f"exactly {most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    try:
        content = json_of_base64(body, containers=SUBMISSION_CONTAINERS, members=len(MEMBERS) + most)
    except JSONRefusedError as error:
        raise _malformed(f"The body must be JSON with {expected} messages: {error}.") from None
    names = MEMBERS if recipe.admission is None else (*MEMBERS, "token")
    if not isinstance(content, dict) or not set(MEMBERS) <= set(content) <= set(names):
        raise _malformed(f"The body must be an object with the fields {' and '.join(names)}.")
    messages = content["messages"]
    if not isinstance(messages, list):
        raise _malformed("messages must be a list of texts in base64.")
    if not fewest <= len(messages) <= most:
        # A user who sends fewer takes the place of an honest user, and the correction of every count assumes
        # honest users.
        raise _malformed(f"There must be {expected} messages, as the protocol makes, not {len(messages):,}.")
    token = content.get("token")
    return (
        _bytes("nonce", content["nonce"], REPORT_NONCE_BYTES),
        [_bytes("each of messages", message) for message in messages],
        None if token is None else _bytes("token", token),
    )


def _bytes(name: str, encoded: object, length: int | None = None) -> bytes:
    try:
        return base64_text.decode(encoded, length)
    except base64_text.Base64Error as error:
        raise _malformed(f"{name} {error}.") from None


def _require_token(batch: Batch, recipe: PublishedRecipe, token: bytes | None, nonce: bytes) -> None:
    try:
        token_require(recipe, token, nonce)
    except TokenRefusedError as error:
        if batch.state == Batch.State.COLLECTING:
            rejections = Rejection.objects.filter(batch=batch, reason=error.reason)
            Rejection.objects.bulk_create(
                [Rejection(batch=batch, reason=error.reason)], ignore_conflicts=True
            )
            rejections.update(count=F("count") + 1)
        detail = f"{str(error).capitalize()}."
        raise Problem(
            "report-rejected", "The report was rejected", 422, detail, reason=error.reason
        ) from None


def _rerandomized(messages: list[bytes], key: PublicKey) -> bytes:
    try:
        # All first: rerandomizing costs far more, and would be for nothing if the last one is bad.
        ciphertexts = [key.parse(message) for message in messages]
    except InvalidCiphertextError as error:
        raise Problem("invalid-ciphertext", "A message is no ciphertext", 422, f"{error}.") from None
    return b"".join(bytes(key.rerandomize(ciphertext, RANDOM)) for ciphertext in ciphertexts)


def _is_known(batch: Batch, nonce: bytes) -> bool:
    return SubmissionNonce.objects.filter(batch=batch, nonce=nonce).exists()


def _require_capacity(batch: Batch, recipe: PublishedRecipe, now: datetime) -> None:
    if batch.was_full:
        detail = f"All {batch.cohort_size:,} users have come."
        raise Problem("batch-full", "The batch is full", 409, detail)
    in_time = recipe.simulation or recipe.opens_at <= now < recipe.closes_at
    if batch.state != Batch.State.COLLECTING or not in_time:
        detail = "Messages are accepted from its opening to its closing."
        raise Problem("recipe-not-open", "The recipe accepts no messages now", 409, detail)


def _malformed(detail: str) -> Problem:
    return Problem("malformed-messages", "The messages cannot be read", 422, detail)
