"""Privacy losses that took seconds, in the cache of composed numbers: every process finds them there."""

import hashlib
import json

import numpy as np
from django.core.cache import caches

from ledger.composed import CACHE, SOFTWARE
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.privacy_loss import PrivacyLoss


class CachedLosses:
    """A `LossMemory`. Some kilobytes for each event, dropped like composed numbers."""

    def recall(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        known = caches[CACHE].get(_key(event, dots_apart))
        if known is None:
            return None
        losses, masses, infinite = known
        return PrivacyLoss(np.array(losses, np.float64), np.array(masses, np.float64), infinite)

    def remember(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        kept = [loss.losses.tolist(), loss.masses.tolist(), float(loss.infinite)]
        caches[CACHE].set(_key(event, dots_apart), kept)


def _key(event: PrivacyEvent, dots_apart: float) -> str:
    content = json.dumps(["loss", SOFTWARE, event.as_dict(), dots_apart], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
