"""Oblivious HTTP: a relay sees who asks and a gateway sees what; nobody sees both.

`binary_http` writes requests and responses as bytes (RFC 9292), `keys` are what a gateway publishes, and
`capsules` seal a request to it and an answer back (RFC 9458). `signed_keys` tells whose keys they are.
`padding` makes all requests of a kind as long as each other.

Randomness is an argument. It must not know sockets, clocks, addresses or what is asked.
"""

__all__ = ["binary_http", "capsules", "keys", "padding", "signed_keys"]
