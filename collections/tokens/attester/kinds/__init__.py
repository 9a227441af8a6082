"""Kinds of attestation, a file each: the names of PANAPP_ATTESTATION."""

from django.conf import settings

from tokens.attester.kinds.interface import Attestation
from tokens.attester.kinds.mtls import ClientCertificates
from tokens.attester.kinds.roster import Roster
from tokens.attester.kinds.trial import Trial
from tokens.attester.kinds.webauthn import Credentials

__all__ = ["KINDS", "Attestation", "attestation"]

_ALL: tuple[Attestation, ...] = (Roster(), Credentials(), ClientCertificates(), Trial())
KINDS = {kind.name: kind for kind in _ALL}


def attestation() -> Attestation:
    """The kind that this installation chose."""
    return KINDS[settings.ATTESTATION]
