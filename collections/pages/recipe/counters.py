"""Which servers signed the number of reports of a result, in a sentence."""

from collections.abc import Sequence

from results.servers import ServerShown


def signers_sentence(servers: Sequence[ServerShown], partner_signs: str = "") -> str:
    """The servers that signed, and those that did not; empty if none did.

    Args:
        partner_signs: what the others signed instead, in a sentence (`ShownTrustModel.partner_signs`).
    """
    signed = [server.name.lower() for server in servers if server.signature is not None]
    unsigned = [server.name.lower() for server in servers if server.signature is None]
    if not signed:
        return ""
    sentence = f"Signed by the {' and the '.join(signed)}."
    if not unsigned:
        return sentence
    instead = partner_signs or f"The {' and the '.join(unsigned)} did not sign."
    return f"{sentence} {instead}"
