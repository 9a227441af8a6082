"""Why a simulation was not started or cancelled; nothing was changed then."""


class SimulationRefusedError(ValueError):
    """Not now, or not here: the message is a clause that says why."""
