"""The shuffler: takes messages, rerandomizes and mixes them, hands out full batches only.

A server of its own runs it. Others call `status` for its page, and read `models` for its metrics.

It must not know leader, helper, DAP or stored recipes, nor the content of a message.
"""

__all__ = ["models", "status"]
