"""The state of an issuer's recipes, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily

from storage.gauges import DatabaseCollector, gauge
from tokens.issuer.models import Handle, Issuance


class TokensCollector(DatabaseCollector):
    """What an issuer holds, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield gauge(
            "panapp_issuances",
            "Recipes for which an issuer signs tokens.",
            Issuance.objects.filter(state=Issuance.State.ISSUING).count(),
        )
        yield gauge(
            "panapp_tokens_issued",
            "Tokens of these recipes, without those that the attester withheld.",
            Handle.objects.filter(withheld=False).count(),
        )
