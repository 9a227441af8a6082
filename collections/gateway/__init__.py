"""The end of oblivious HTTP (RFC 9458): opens capsules, asks this server's own addresses, seals the answers.

Who sent a capsule the gateway does not see: it gets them from a relay. Others use the address in `urls` and
the table in `models`, and delete old `keys` where no worker does. Who gets capsules by another way calls
`opening`.

It must not know what is asked, nor who answers: which addresses may be asked is a setting of the role.
"""

__all__ = ["keys", "models", "opening", "urls"]
