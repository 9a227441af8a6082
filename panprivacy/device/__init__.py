"""A device: what takes part in recipes of a site, over the site's public API.

A device uses `client` (events in time steps) or `value_client` (one value), and `transport`. The command line
is `command_line`. `trust_models` has the paths of reports, and `value_reports` what devices with one value
report. `identity` and `tokens` are for recipes whose reports need a token, `oblivious_transport` for those
with a relay. `log_check` finds a recipe in the site's public log. `rest_upload` and `dap_upload` send reports
to one server and to two, `items` those of a stream. `rounds_check` checks the document of all rounds.
`attributes` is what a device knows about itself, for recipes with a target, and `target_check` what such a
recipe must show.

It must not know how a server stores, adds up or releases anything: it reaches servers over their public API
only (`docs/protocol.md`).
"""

__all__ = [
    "attributes",
    "client",
    "command_line",
    "dap_upload",
    "identity",
    "items",
    "log_check",
    "oblivious_transport",
    "rest_upload",
    "rounds_check",
    "target_check",
    "tokens",
    "transport",
    "trust_models",
    "value_client",
    "value_reports",
]
