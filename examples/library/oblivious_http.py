"""A request that no server sees together with its sender (RFC 9458).

The client seals it to the gateway's key and sends it through a relay. The relay knows the sender, the gateway
the request.
"""

import secrets

from panprivacy.protocols.oblivious_http import capsules, keys

source = secrets.SystemRandom()
config, private_key = keys.generate(1, source)  # the gateway publishes `config`

capsule, client = capsules.seal(config, b"a request", source)
request, server = capsules.open_({config.key_id: (config, private_key)}, capsule)
answer = server.seal(b"an answer", source)

print(f"gateway: {request!r}, client: {client.open(answer)!r}")
