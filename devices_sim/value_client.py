"""A real device with one value: it verifies a recipe, and sends messages through the shuffler, once.

Nothing is kept: value, randomness and messages are gone with the process.
"""

import http
import random
import secrets
from collections.abc import Callable

from devices_sim.algorithm import value_report
from devices_sim.client import early_or_late, require_takes_part
from devices_sim.transport import (
    Delivery,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
    TransportError,
)
from devices_sim.trust_models import reporting_model
from panprivacy.errors import FieldError
from panprivacy.limits import USUAL, RecipeLimits
from panprivacy.recipe import PublishedRecipe
from panprivacy.shuffle.interface import ShuffleStatistic


class UnknownDeliveryError(TransportError):
    """Messages were sent, and no answer says whether they arrived."""


def send_value(
    text: str,
    served: ServedRecipe,
    transport: Transport,
    *,
    verification_key: bytes,
    shuffler_key: bytes | None,
    simulation: bool = False,
    limits: RecipeLimits = USUAL,
    announce: Callable[[PublishedRecipe], None] | None = None,
    random_source: random.Random | None = None,
) -> Delivery:
    """Randomize a value, encrypt every message to the analyzer, and send them to the shuffler.

    Call it once: a value that is sent twice counts twice, and both together protect it less. The
    transport repeats what got no answer, with the same nonce and the same bytes, which count once.

    Args:
        text: the value, as the recipe's statistic reads it.
        served: the recipe as fetched.
        transport: to the server that published it; stays open.
        verification_key: that server's Ed25519 key (32 bytes), pinned beforehand.
        shuffler_key: the shuffler's, pinned too; the recipe is refused without it.
        simulation: whether this device is a simulated one.
        limits: of this device, for recipes that are no simulations.
        announce: told of the verified recipe before the value is looked at.
        random_source: `secrets.SystemRandom()` by default; seeded ones in simulations only.

    Raises:
        RecipeVerificationError: identifier or a signature does not hold, or the shuffler's key is missing or
            another.
        FieldError: the recipe takes no values, or not this one; it does not keep its promise, or goes beyond
            this device's limits.
        RecipeRefusedError: a recipe for simulations on a real device or the reverse, or a closed one.
        RecipeNotOpenError: the recipe takes no values yet; RecipeClosedError: any more.
        BatchFullError: the shuffler has all the users that it mixes, and accepts no more.
        ReportRejectedError: it refused the messages, as it will again.
        UnknownDeliveryError: no answer after several attempts.
        TransportError: refused for another reason: the messages have not been taken.
    """
    recipe = served.verified(verification_key, shuffler_key)
    statistic = recipe.calibrated_statistic
    if not isinstance(statistic, ShuffleStatistic):
        raise FieldError(
            "trust", f"is {recipe.trust}: devices of this recipe take steps, and send no value (join, step)"
        )
    require_takes_part(recipe, served, simulation=simulation, limits=limits)
    if announce is not None:
        announce(recipe)
    source = secrets.SystemRandom() if random_source is None else random_source
    report = value_report(statistic, recipe.public_key, statistic.value_of(text), source)
    try:
        with reporting_model(recipe).upload(recipe, transport) as upload:
            return upload.submit(report)
    except RecipeNotOpenError as error:
        raise early_or_late(error, recipe, transport) from error
    except TransportError as error:
        if error.status is None or error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnknownDeliveryError(
                f"{error}; the value may have arrived, and sent again it may count twice", status=error.status
            ) from error
        raise
