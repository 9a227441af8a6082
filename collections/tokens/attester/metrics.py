"""How many devices an attester knows and what it handed out, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily

from storage.gauges import DatabaseCollector, gauge
from tokens.attester.models import Device, Handle, Issued


class DevicesCollector(DatabaseCollector):
    """What an attester keeps, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        devices = GaugeMetricFamily(
            "panapp_attester_devices", "Devices in an attester's list.", labels=("state",)
        )
        for state, revoked in (("known", False), ("revoked", True)):
            devices.add_metric((state,), Device.objects.filter(revoked=revoked).count())
        yield devices
        yield gauge("panapp_attester_tokens", "Tokens handed out by an attester.", Issued.objects.count())
        untold = Handle.objects.filter(withheld=True, told=False).count()
        yield gauge("panapp_attester_untold", "Withheld tokens that the issuer does not know yet.", untold)
