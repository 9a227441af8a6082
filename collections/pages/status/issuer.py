"""The issuer's recipes, key and log, for the public."""

from issuer.models import Issuance
from issuer.status import status
from pages.status.server import StatusPages

PAGES = StatusPages("issuer", lambda: Issuance.objects.exclude(identifier=None).order_by("-pk"), status)
