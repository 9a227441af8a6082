"""Which way the reports of a recipe go: the registry of `Upload`, by trust model."""

from collections.abc import Callable, Mapping

from devices_sim.rest_upload import RestUpload
from devices_sim.shuffler_upload import ShufflerUpload
from devices_sim.transport import Transport
from devices_sim.upload import Upload
from panprivacy.recipe import Recipe
from panprivacy.trust import Trust


def _to_one_server(recipe: Recipe, transport: Transport) -> Upload:
    return RestUpload(recipe.identifier, transport)


def _to_two_servers(recipe: Recipe, transport: Transport) -> Upload:
    # Here, because devices of single-server recipes need none of it.
    from devices_sim.dap_upload import DapUpload

    return DapUpload(recipe, transport)


UPLOADS: Mapping[Trust, Callable[[Recipe, Transport], Upload]] = {
    Trust.SINGLE_SERVER: _to_one_server,
    Trust.TWO_SERVER: _to_two_servers,
    Trust.SHUFFLER: ShufflerUpload,
}


def upload_of(recipe: Recipe, transport: Transport) -> Upload:
    """The way of a recipe's reports.

    Args:
        recipe: verified.
        transport: to the server that published it; stays open.
    """
    return UPLOADS[recipe.trust](recipe, transport)
