"""`manage.py hpke_keys list|rotate`: the keys to which clients seal."""

from dap.hpke_keys import HPKE_KEYS
from storage.key_command import KeyCommand


class Command(KeyCommand):
    help = "List the keys to which clients seal reports, or make a new one."
    ring = HPKE_KEYS
    sealed = "reports"
