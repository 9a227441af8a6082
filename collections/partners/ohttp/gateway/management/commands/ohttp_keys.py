"""`manage.py ohttp_keys list|rotate`: the keys to which devices seal requests."""

from partners.ohttp.gateway.keys import GATEWAY_KEYS
from storage.key_command import KeyCommand


class Command(KeyCommand):
    help = "List the keys to which devices seal requests, or make a new one."
    ring = GATEWAY_KEYS
    sealed = "reports"
