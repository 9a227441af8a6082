"""The helper of DAP tasks: agrees to documents, verifies its shares, gives its part of a sum once.

A server of its own runs it. Others call `status` alone, for its page.

It must not know leader, shuffler or stored recipes: it trusts what it checked itself.
"""

__all__ = ["status"]
