"""The keys of a gateway."""

from storage.rotating_keys import RotatingKey


class GatewayKey(RotatingKey):
    """A key pair to which devices seal requests."""
