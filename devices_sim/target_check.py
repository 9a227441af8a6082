"""A device's look at the results that a target rests on: released, signed, in the log, and large enough."""

import json

from devices_sim.algorithm import DeviceError
from devices_sim.log_check import LogCheck, LogRefusedError
from devices_sim.transport import API, Transport, json_object
from panprivacy.asked_target import CitedTarget
from panprivacy.errors import FieldError
from panprivacy.targeting.evidence import CitationRefusedError, cited_sizes
from panprivacy.targeting.sizes import Sizes, require_large


class TargetRefusedError(DeviceError):
    """What a recipe cites does not show that many devices are in its target."""


def target_require(
    cited: CitedTarget,
    *,
    population: str | None,
    simulation: bool,
    transport: Transport,
    log: LogCheck | None,
) -> None:
    """Check that a target is as large as its recipe says, whether or not the device is in it.

    A device that looked only where it fits would tell by looking.

    Args:
        cited: of a verified recipe.
        population, simulation: of that recipe.
        transport: to the site that published it; on the way on which the device reports.
        log: None is refused: only the log shows that everybody sees the same result.

    Raises:
        TargetRefusedError: a result does not show it.
        LogRefusedError: there is no log to ask, or it does not vouch for a result.
        NotInLogError, TransportError: as of `LogCheck`: no answer, or no proof so far.
    """
    if log is None:
        raise LogRefusedError("a recipe with a target needs a policy for the public log (--log-policy)")
    if population is None:
        raise TargetRefusedError("a recipe with a target must name its population")
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
