"""Which of the registered schemes a test needs, where it need not have all of them."""

from panprivacy.encryption import SCHEMES


def _first_of_each_file() -> tuple[str, ...]:
    found: dict[str, str] = {}
    for scheme, private_key_class in SCHEMES.items():
        found.setdefault(private_key_class.__module__, scheme)
    return tuple(found.values())


ONE_PER_FILE = _first_of_each_file()
"""The first scheme of each file: those of one file share their code and differ in the length of keys."""
