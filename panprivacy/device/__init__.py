"""A device: it joins recipes of a site, counts events or takes one value, and reports over the public API.

| to do | use |
|---|---|
| reach a site, fetch a recipe | `transport.HttpTransport` |
| events in time steps | `client.Device`: `join` once, `step` in each time step, `send` after the last one |
| one value, sent once | `value_client.send_value`; with a token `client.Device`, without steps |
| keep the state | a file by its path, or an object with `read` and `write` (`storage.StateStore`) |
| check that all devices see the same recipe | `log_check.LogCheck`, with `log_memory.LogMemory` |
| a token of each recipe that asks for one | `identity`, `client.Device.obtain_token` |
| reports through a relay | nothing: a device does so if its recipe names one (`oblivious_transport`) |
| one round of a recipe in rounds | `rounds_check.round_require`, with `rounds_memory.RoundsMemory` |
| a recipe that asks a part of the devices | `attributes`, `target_check.target_require` |
| limits of what a device takes part in | `panprivacy.planning.limits.RecipeLimits` |
| a budget of all that it ever joins | `lifetime.LifetimeBudget`, with `lifetime.LifetimeMemory` |
| what a state shows, and leaving | `view.state_view`, `client.Device.leave` |
| counters of OpenTelemetry as events | `opentelemetry.PanPrivateReader`, with the extra `otel` |
| all of it from a shell | `python -m panprivacy.device` (`command_line`) |

A device verifies each recipe with a key that was pinned beforehand. Its state holds ciphertexts that it
cannot read; losing the state loses the report, and restoring an older one may report twice.

Other programs use the parts: `algorithm` (states in memory), `value_reports` (what devices with one value
report), `trust_models` (the paths of reports) and `items` (of a stream). `rest_upload`, `dap_upload` and
`shuffler_upload` send to one server, two, or a shuffler.

It is the only part of `panprivacy` that opens connections and reads clocks. It must not know how a server
stores, adds up or releases anything: it reaches servers over their public API only (`docs/protocol.md`).
"""

from importlib.util import find_spec

if find_spec("urllib3") is None:
    raise ModuleNotFoundError("panprivacy.device needs urllib3: install panprivacy[device]", name="urllib3")

__all__ = [
    "algorithm",
    "attributes",
    "client",
    "command_line",
    "dap_upload",
    "identity",
    "items",
    "lifetime",
    "log_check",
    "log_memory",
    "oblivious_transport",
    "opentelemetry",
    "rest_upload",
    "rounds_check",
    "rounds_memory",
    "shuffler_upload",
    "storage",
    "target_check",
    "tokens",
    "transport",
    "trust_models",
    "value_client",
    "value_reports",
    "view",
]
