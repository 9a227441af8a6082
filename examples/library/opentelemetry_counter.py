"""A program whose counter of OpenTelemetry is the event of a recipe: its value never leaves the device.

Run as `python opentelemetry_counter.py SITE RECIPE KEY`: the site's address, the recipe's identifier, and the
Ed25519 key that signs the site's recipes, in base64. The recipe has one event and one time step.
"""

import sys
from base64 import b64decode
from pathlib import Path

from opentelemetry.sdk.metrics import MeterProvider

from panprivacy.device.client import Device
from panprivacy.device.opentelemetry import CounterEvent, PanPrivateReader
from panprivacy.device.transport import HttpTransport

site, recipe, key = sys.argv[1:]
state = Path("opentelemetry.state")
with HttpTransport(site) as transport:
    Device.join(state, transport.recipe(recipe), verification_key=b64decode(key)).close()

    failures = CounterEvent(counter="example.requests", attributes={"failed": True})
    reader = PanPrivateReader(state, [failures], deliver=lambda device: device.send(transport))
    provider = MeterProvider(metric_readers=[reader])
    requests = provider.get_meter("example").create_counter("example.requests")
    for number in range(10):
        requests.add(1, {"failed": number == 7})
    # A program that runs on needs no more. This one ends, and takes the step that is under way.
    provider.shutdown()

    with Device.open(state) as device:
        delivery = device.send(transport)
assert delivery is not None, "the coin kept this device out"
print(f"the step is taken, report {delivery.value}")
