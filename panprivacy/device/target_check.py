"""A device's check of the results that a target rests on: released, signed, in the log, and large enough."""

import json

from panprivacy.device.algorithm import DeviceError
from panprivacy.device.log_check import LogCheck, LogRefusedError
from panprivacy.device.transport import API, Transport, json_object
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.recipe.targeting.evidence import CitationRefusedError, cited_sizes
from panprivacy.recipe.targeting.sizes import Sizes, require_large


class TargetRefusedError(DeviceError):
    """The results that a recipe cites do not show that enough devices are in its target."""


def target_require(
    cited: CitedTarget,
    *,
    population: str,
    simulation: bool,
    transport: Transport,
    log: LogCheck | None,
) -> None:
    """Check that a target is as large as its recipe states, whether or not the device is in it.

    A device that checked only if it fits the target would reveal that by checking.

    Args:
        cited: of a verified recipe.
        population, simulation: of that recipe.
        transport: to the site that published it; the same transport that the device reports over.
        log: None is refused: only the log shows that all devices see the same result.

    Raises:
        TargetRefusedError: a result does not show it.
        LogRefusedError: there is no log to ask, or it does not vouch for a result.
        NotInLogError, TransportError: as in `LogCheck`: no answer, or no proof so far.
    """
    if log is None:
        raise LogRefusedError("a recipe with a target needs a policy for the public log (--log-policy)")
    sizes: dict[str, Sizes] = {}
    for attribute, citation in cited.citations.items():
        result = json_object(transport.get(f"{API}/recipes/{citation.recipe}/result/"))
        content = json.dumps(result).encode()
        log.require_file(content, f"releases/{citation.recipe}/", transport, what="result")
        try:
            sizes[attribute] = cited_sizes(
                result, citation, attribute=attribute, population=population, simulation=simulation
            )
        except CitationRefusedError as error:
            raise TargetRefusedError(f"target.{attribute}: {error}") from error
    try:
        require_large(cited.target, sizes, cited.smallest)
    except FieldError as error:
        raise TargetRefusedError(str(error)) from error
