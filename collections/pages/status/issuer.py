"""The issuer's recipes, key and log, for the public."""

from pages.status.server import StatusPages
from tokens.issuer.models import Issuance
from tokens.issuer.status import status

PAGES = StatusPages("issuer", lambda: Issuance.objects.exclude(identifier=None).order_by("-pk"), status)
