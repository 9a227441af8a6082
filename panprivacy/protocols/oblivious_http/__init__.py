"""Oblivious HTTP: a relay sees the sender and a gateway sees the request; neither sees both.

`binary_http` writes requests and responses as bytes (RFC 9292), `keys` are what a gateway publishes, and
`capsules` seal a request to it and an answer back (RFC 9458). `signed_keys` authenticates the keys. `padding`
gives all requests of a type one length.

Randomness is an argument. It must not know sockets, clocks, addresses or what is asked.
"""

__all__ = ["binary_http", "capsules", "keys", "padding", "signed_keys"]
