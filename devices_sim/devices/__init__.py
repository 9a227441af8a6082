"""What a simulation knows of its devices, by their input: one file for each type, and this table of them."""

from collections.abc import Mapping

from devices_sim.devices.events import SimulatedEvents
from devices_sim.devices.interface import SimulatedDevices, Truth
from devices_sim.devices.values import SimulatedMessages, SimulatedRandomized
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.device_input import DeviceInput

__all__ = ["SIMULATED_DEVICES", "SimulatedDevices", "Truth", "simulated_class"]

SIMULATED_DEVICES: Mapping[DeviceInput, type[SimulatedDevices]] = {
    DeviceInput.EVENTS: SimulatedEvents,
    DeviceInput.VALUE: SimulatedMessages,
    DeviceInput.RANDOMIZED: SimulatedRandomized,
}


def simulated_class(recipe: PublishedRecipe | RecipeDraft) -> type[SimulatedDevices]:
    """The simulated devices of a recipe's input; FieldError if no devices take part in it."""
    found = SIMULATED_DEVICES.get(statistic_class(recipe.statistic).device_input)
    if found is None:
        raise FieldError(
            "statistic",
            f"cannot be {recipe.statistic}: no devices report to a curator (see `manage.py stream`)",
        )
    return found
