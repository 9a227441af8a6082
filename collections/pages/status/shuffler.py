"""The shuffler's batches, key and log, for the public."""

from pages.status.server import StatusPages
from shuffle.shuffler.models import Batch
from shuffle.shuffler.status import status

PAGES = StatusPages("shuffler", lambda: Batch.objects.order_by("-pk"), status)
