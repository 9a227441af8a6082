"""The end of oblivious HTTP (RFC 9458): opens capsules, asks this server's addresses, seals the answers.

The gateway does not see which device sent a capsule: it gets capsules from a relay. Others use the address in
`urls` and the table in `models`, and delete old `keys` if no worker does. Code that gets capsules by another
path calls `capsules`.

It must not know what is asked, nor who answers: which addresses may be asked is a setting of the role.
"""

__all__ = ["capsules", "keys", "models", "urls"]
