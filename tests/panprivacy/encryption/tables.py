"""Keys with tables, which are computed once for each key and not anew for each test."""

import functools

from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey


def with_tables(key: PublicKey) -> PublicKey:
    """What `key.with_tables()` returns."""
    if isinstance(key, SharedKey):
        return SharedKey(with_tables(key.leader), with_tables(key.helper), key.context)
    return _of_members(tuple(key.to_json().items()))


@functools.cache
def _of_members(members: tuple[tuple[str, str], ...]) -> PublicKey:
    return load_public_key(dict(members)).with_tables()
