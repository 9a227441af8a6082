"""What runs on a device, and fleets of them.

Speaks to the server only over the public REST API (`docs/protocol.md`). A real device
uses `client` and `transport`; `workloads`, `fleet` and `intruder` are for simulations.
"""
