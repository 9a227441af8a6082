"""The issuer of tokens: signs blindly, once per device and recipe, and counts.

A server of its own runs it. It knows which recipe a token is for, and never which device. Others call
`status` for its page, and read `models` for its metrics.

It must not know reports, results, or the identity of a device.
"""

__all__ = ["models", "status"]
