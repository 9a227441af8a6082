"""Losses and ε of events, in the cache of composed numbers: every process finds them there."""

import numpy as np
from django.core.cache import caches

from ledger.composition import CACHE
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import number_key
from panprivacy.accounting.privacy_loss import PrivacyLoss


class CachedNumbers:
    """A `NumberCache`. Some kilobytes for each loss, dropped like composed numbers."""

    def loss_get(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        known = caches[CACHE].get(number_key("loss", event.as_dict(), dots_apart))
        if known is None:
            return None
        losses, masses, infinite = known
        return PrivacyLoss(np.array(losses, np.float64), np.array(masses, np.float64), infinite)

    def loss_set(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        kept = [loss.losses.tolist(), loss.masses.tolist(), float(loss.infinite)]
        caches[CACHE].set(number_key("loss", event.as_dict(), dots_apart), kept)

    def epsilon_get(self, event: PrivacyEvent, delta: float) -> float | None:
        known: float | None = caches[CACHE].get(number_key("epsilon", event.as_dict(), delta))
        return known

    def epsilon_set(self, event: PrivacyEvent, delta: float, epsilon: float) -> None:
        caches[CACHE].set(number_key("epsilon", event.as_dict(), delta), float(epsilon))
