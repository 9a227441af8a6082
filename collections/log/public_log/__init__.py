"""The public log: a Merkle tree over the entries of the audit log (RFC 6962).

Every entry is a leaf. For a public entry a leaf states what happened; for any other it has a hash, which the
salt of the entry keeps from confirming a guess. Others call `tree_growth` to give new entries their leaves
(`immediate_signing`: without waiting for the task that does), `cosignatures` to ask witnesses now,
`lost_states` to learn whether entries were lost, `partner_keys` to enter those that settings name,
`selectors` and `models` to read, `verification` to check everything, `checks` to have their own tables
compared with entries, and `urls` to serve it. Each installation is a witness of others' logs, too, and asks
witnesses to sign its own.

It must not know what entries are about: its action declares what may be shown.
"""

__all__ = [
    "checks",
    "cosignatures",
    "immediate_signing",
    "lost_states",
    "models",
    "partner_keys",
    "selectors",
    "tree_growth",
    "urls",
    "verification",
]
