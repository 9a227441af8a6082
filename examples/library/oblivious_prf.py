"""Two parties make a name together: one has the key, the other the input, and neither learns the other's."""

import secrets

from panprivacy.protocols.oblivious_prf import evaluation

source = secrets.SystemRandom()
key = evaluation.new_key(source)


def name_of(text: bytes) -> bytes:
    asked = evaluation.ask(text, source)  # a blinded point, new at every call
    return asked.finish(evaluation.evaluate(key, asked.element))


print(name_of(b"device 7").hex())
assert name_of(b"device 7") == name_of(b"device 7") != name_of(b"device 8")
