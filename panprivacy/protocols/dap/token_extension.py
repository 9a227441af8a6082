"""The public report extension that carries a token of admission (docs/protocol.md).

It is in the metadata of the report, which is associated data of both sealed shares: if a server exchanges the
token of a report, its shares do not open.
"""

from panprivacy.protocols.dap.basics import Extension
from panprivacy.protocols.dap.upload import ReportMetadata
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES

TOKEN = 0xFF01
"""Type of the extension: a number of ours, which no draft assigns."""


def token_extension(token: bytes) -> Extension:
    """The extension with a token (354 bytes)."""
    return Extension(TOKEN, token)


def token_of(metadata: ReportMetadata) -> bytes | None:
    """The token that a report carries, of any length and unverified; None if it brings none."""
    carried = (e.extension_data for e in metadata.public_extensions if e.extension_type == TOKEN)
    return next(carried, None)


ENCODED_BYTES = len(token_extension(bytes(TOKEN_BYTES)).encode())
HEADER = token_extension(bytes(TOKEN_BYTES)).encode()[:-TOKEN_BYTES]
"""The prefix of an encoded extension with a token: its type and length."""
