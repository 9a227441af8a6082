"""Fleets of simulated devices, and their command line `python -m devices_sim`.

Simulations use `fleet`, `devices` (what a simulation knows of devices, by their input), `workloads` and
`fleet_attributes`. `forecast` states in words the time of a fleet of values, `fleet_result` is the result of
a fleet, and `workers` are its processes. What real devices do as well is `panprivacy.device`.

It must not know how a server stores, adds up or releases anything: of the product it imports `panprivacy`
alone, and reaches servers over their public API only (`docs/protocol.md`).
"""

__all__ = [
    "devices",
    "fleet",
    "fleet_attributes",
    "fleet_result",
    "forecast",
    "workloads",
]
