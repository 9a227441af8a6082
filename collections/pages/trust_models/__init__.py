"""Texts of pages about each trust model, one file each; this is the table."""

from pages.trust_models.curator import CURATOR
from pages.trust_models.interface import Adversary, Observers, PartnerShown, ShownTrustModel
from pages.trust_models.joint_key import JOINT_KEY
from pages.trust_models.shuffler import SHUFFLER
from pages.trust_models.single_server import SINGLE_SERVER
from pages.trust_models.two_server import TWO_SERVER
from panprivacy.accounting.trust import Trust

__all__ = ["SHOWN", "Adversary", "Observers", "PartnerShown", "ShownTrustModel"]

SHOWN: dict[Trust, ShownTrustModel] = {
    shown.trust: shown for shown in (SINGLE_SERVER, TWO_SERVER, SHUFFLER, JOINT_KEY, CURATOR)
}
"""Trust model → its texts."""
