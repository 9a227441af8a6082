"""A real device with one value: it verifies a recipe and sends, once, messages to a shuffler or a report.

Nothing is kept: value, randomness and messages end with the process.
"""

import http
import random
import secrets
from collections.abc import Callable

from panprivacy.device.client import RecipeRefusedError, early_or_late, require_takes_part
from panprivacy.device.lifetime import LifetimeBudget
from panprivacy.device.transport import (
    Delivery,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
    TransportError,
)
from panprivacy.device.trust_models import report_path
from panprivacy.device.value_reports import value_reports
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL, RecipeLimits
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.parts.admission import ADMISSION


class UnknownDeliveryError(TransportError):
    """Messages were sent, and no answer shows whether they arrived."""


def send_value(
    text: str,
    served: ServedRecipe,
    transport: Transport,
    *,
    verification_key: bytes,
    partner_key: bytes | None,
    simulation: bool = False,
    limits: RecipeLimits = USUAL,
    lifetime: LifetimeBudget | None = None,
    announce: Callable[[PublishedRecipe], None] | None = None,
    sampled: Callable[[], None] | None = None,
    random_source: random.Random | None = None,
) -> Delivery | None:
    """Randomize a value, and send the result: messages to a shuffler, or a report to one server or two.

    Call it once: a value that is sent twice counts twice, and both together protect it less. The
    transport repeats what got no answer, with the same nonce and the same bytes, which count once.

    Args:
        text: the value, in the form that the recipe's statistic reads.
        served: the recipe as fetched.
        transport: to the server that published it; stays open.
        verification_key: that server's Ed25519 key (32 bytes), pinned beforehand.
        partner_key: the shuffler's or the helper's, also pinned; a recipe that has one is refused without it.
        simulation: whether this device is a simulated one.
        limits: of this device, for recipes that are no simulations.
        lifetime: the budget of all that this device ever joins, if it has one. Every call counts, also if the
            server refuses the value: the server may have read it.
        announce: called with the verified recipe; the value is read afterwards.
        sampled: called if the coin lets the device take part, and nothing is sent yet.
        random_source: `secrets.SystemRandom()` by default; seeded ones in simulations only.

    Returns:
        how it was delivered; None for a device whose coin keeps it out.

    Raises:
        RecipeVerificationError: identifier or a signature does not hold, or the partner's key is missing or
            another.
        FieldError: the recipe takes no values, or not this one; it does not keep its promise, or exceeds this
            device's limits, or `lifetime`.
        RecipeRefusedError: a recipe for simulations on a real device or the reverse, or a closed one.
        RecipeNotOpenError: the recipe takes no values yet; RecipeClosedError: it has ended.
        BatchFullError: the shuffler has the messages of a full cohort, and accepts no more.
        ReportRejectedError: it refused the messages, and will refuse them again.
        UnknownDeliveryError: no answer after several attempts.
        TransportError: refused for another reason: the messages have not been taken.
    """
    if ADMISSION in served.document:
        # Checked first: verification takes the issuer's key, and a refusal needs no proof.
        raise RecipeRefusedError("this recipe needs a token, which has to be kept: join, token, send")
    recipe = served.verified(verification_key, partner_key)
    if not recipe.calibrated_statistic.device_input.is_one_value:
        raise FieldError(
            "trust", f"is {recipe.trust}: devices of this recipe take steps, and send no value (join, step)"
        )
    require_takes_part(recipe, served, simulation=simulation, limits=limits)
    if lifetime is not None:
        lifetime.require(recipe)
    if announce is not None:
        announce(recipe)
    source = secrets.SystemRandom() if random_source is None else random_source
    reports = value_reports(recipe)
    # Ahead of the coin: an invalid value leaves nothing behind.
    value = reports.value_of(text)
    if lifetime is not None:
        # Ahead of the coin, and of an early answer of the server.
        lifetime.count(recipe)
        lifetime.record_joined(recipe)
    if not reports.is_sampled(source):
        if lifetime is not None:
            lifetime.record_joined(recipe, gives=False)
        return None
    if sampled is not None:
        sampled()
    report = reports.of_value(value, source)
    if report is None:
        return None
    path = report_path(recipe, verification_key)
    servers = path.transport(transport)
    try:
        with servers, path.upload(servers) as upload:
            return upload.submit(report)
    except RecipeNotOpenError as error:
        raise early_or_late(error, recipe, servers) from error
    except TransportError as error:
        if error.status is None or error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnknownDeliveryError(
                f"{error}; the value may have arrived, and sent again it may count twice", status=error.status
            ) from error
        raise
