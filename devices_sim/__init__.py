"""What runs on a device, and fleets of simulated devices.

A real device uses `client` (events in time steps) or `value_client` (one value), and `transport`. The command
line is `python -m devices_sim`. Simulations use `fleet`, `workloads` and `items`. `trust_models` has what
differs between trust models.

It must not know how a server stores, adds up or releases anything: of the product it imports `panprivacy`
alone, and reaches servers over their public API only (`docs/protocol.md`).
"""

__all__ = [
    "client",
    "dap_upload",
    "fleet",
    "fleet_result",
    "forecast",
    "items",
    "rest_upload",
    "transport",
    "trust_models",
    "value_client",
    "workloads",
]
