"""How much one request may ask for."""

from panprivacy.formats.base64_text import encoded_length
from panprivacy.protocols.oblivious_http.capsules import LARGEST_CAPSULE

REGISTRATION_BYTES = 1024 * 1024
"""A recipe's document with two Paillier keys takes a few thousand."""

REASON_BYTES = 1024
KEY_REQUEST_BYTES = 1024

MOST_WITHHELD = 1_000
"""Handles that one request names."""

TOKEN_REQUEST_BYTES = encoded_length(LARGEST_CAPSULE) + MOST_WITHHELD * 32 + 1024
"""Of a body: the capsule, handles with their quotes and commas, and the rest. Devices send the shortest class
of capsules; others that a gateway opens are opened here, too."""
