"""A process of another host, for tests: it seals, opens and erases on the database that it is given.

Run as `python -m tests.collections.storage.key_host`. A line of input is `seal`, or `open` or `erase` and a
sealed secret in hexadecimal digits; `die` seals, and dies before the commit. A line of output is the outcome,
or the name of the error.
"""

import os
import sys

import django
from django.db import transaction

NAMED = {"kind": b"kind\n", "owner": b"owner"}
SECRET = b"a secret"


def answer(outcome: str) -> None:
    """Write one line at once."""
    sys.stdout.write(f"{outcome}\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until the input ends."""
    django.setup()
    from storage.sealing import secret_erase, secret_seal, secret_unseal

    answer("ready")
    for line in sys.stdin:
        action, _, argument = line.strip().partition(" ")
        sealed = bytes.fromhex(argument)
        outcome = ""
        try:
            if action == "open":
                outcome = secret_unseal(sealed, **NAMED).decode()
            else:
                with transaction.atomic():
                    if action == "erase":
                        secret_erase(sealed)
                    else:
                        outcome = secret_seal(SECRET, **NAMED).hex()
                    if action == "die":
                        os._exit(9)
        except Exception as error:
            outcome = type(error).__name__
        answer(outcome)


if __name__ == "__main__":
    main()
