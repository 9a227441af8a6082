"""The relay of oblivious HTTP: passes capsules from devices to gateways, and the answers back.

A server of its own organization runs it. It sees who asks, and neither what is asked nor what is answered. It
stores nothing, and tells a gateway nothing of who asked. Others use `urls`.

It must not know recipes, reports, or what is in a capsule.
"""

__all__ = ["urls"]
