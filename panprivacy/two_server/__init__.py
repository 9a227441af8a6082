"""Local pan-privacy with two servers: encrypted shares and proofs (LPP section 5, Algorithm 6).

Joins `encryption` and `prio3`, and knows nothing of messages, tasks or recipes. Devices whose recipe has one
server need not import it.
"""

from panprivacy.two_server.configuration import IDENTIFIER, PanPrivateCountVec
from panprivacy.two_server.shared_key import SharedCiphertext, SharedKey
from panprivacy.two_server.verifier import PanPrivateVerifier

__all__ = ["IDENTIFIER", "PanPrivateCountVec", "PanPrivateVerifier", "SharedCiphertext", "SharedKey"]
