"""The relay of oblivious HTTP: passes capsules from devices to gateways, and the answers back.

It runs on a server of a separate organization. It sees who asks, and neither what is asked nor what is
answered. It stores nothing, and does not reveal the client to a gateway. Others use `urls`.

It must not know recipes, reports, or what is in a capsule.
"""

__all__ = ["urls"]
