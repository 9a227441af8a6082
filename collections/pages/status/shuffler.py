"""The shuffler's batches, key and log, for the public."""

from pages.status.server import StatusPages
from shuffler.models import Batch
from shuffler.status import status

PAGES = StatusPages("shuffler", lambda: Batch.objects.order_by("-pk"), status)
