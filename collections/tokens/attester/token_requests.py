"""One token request: the device is known already, and the recipe is not."""

import secrets
from datetime import date

from panprivacy.protocols.oblivious_prf import evaluation
from panprivacy.protocols.oblivious_prf.evaluation import InvalidElementError
from storage.connections import connection_release
from tokens.attester.issuer import Issuer, capsule_hash, issuer_failed
from tokens.attester.issuer_answers import Outcome, answer_kept, answer_settle, handles_told, handles_untold
from web.problems import Problem


def token_answer(*, pseudonym: bytes, capsule: bytes, issuer: Issuer, today: date) -> bytes:
    """The sealed answer to a device's capsule.

    The same capsule gets the same answer for a day, without the issuer being asked.

    Args:
        pseudonym: of the device, 32 bytes.
        today: the day by our clock.

    Raises:
        Problem: `already-issued` (409): the device has its token of this recipe; `unavailable` (503) or
            `issuer-failed` (502): nothing was stored.
    """
    digest = capsule_hash(capsule)
    kept = answer_kept(digest)
    if kept is not None:
        return kept
    asked = evaluation.ask(pseudonym, secrets.SystemRandom())
    told = handles_untold()
    connection_release()
    answer = issuer.answer(asked.element, capsule, told)
    if answer.element is None or answer.handle is None:
        # No token was made. Why not is for the device alone, inside.
        handles_told(told)
        return answer.capsule
    if answer.element == asked.element:
        raise issuer_failed("It evaluated nothing.")
    try:
        identifier = asked.finish(answer.element)
    except InvalidElementError:
        raise issuer_failed("Its element is no point of the curve.") from None
    outcome = answer_settle(
        identifier=identifier,
        handle=answer.handle,
        capsule=digest,
        answer=answer.capsule,
        told=told,
        today=today,
    )
    if outcome is Outcome.ALREADY_ISSUED:
        detail = "This device has its token of this recipe; another one is not handed out."
        raise Problem("already-issued", "The token was issued already", 409, detail)
    if outcome is Outcome.WITHHELD_BEFORE:
        detail = "Another device asked with the same blinded message. Begin anew with a fresh one."
        raise Problem("request-used", "The request is another device's", 409, detail)
    # What was stored first, if two requests brought the same capsule at once.
    return answer_kept(digest) or answer.capsule
