"""A device that cannot read its own memory counts an event (LPP, Algorithm 3).

Its state is one ciphertext, changed at every step whether or not the event happened. After the last step a
coin may flip the bit, and the device sends one report. The server decrypts reports and removes the coin's
effect from their sum.
"""

import secrets

from panprivacy.encryption import generate_private_key
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero

source = secrets.SystemRandom()
key = generate_private_key("elgamal-secp256k1", source)
statistic = CountNonzero(Parameters(steps=3, epsilon=2.0, delta=1e-6, cohort_size=200, sampling_rate=1.0))
total = 0
for device in range(200):
    state = statistic.start(key.public_key, source)
    for step in (1, 2, 3):
        state = statistic.step(key.public_key, state, device < 80 and step == 2, step, source)
    (report,) = statistic.report(key.public_key, state, source)
    total += key.decrypt(report, statistic.allowed_values)

estimate = statistic.estimate([total], reports=200)
low, high = estimate.intervals[0].low[0], estimate.intervals[0].high[0]
print(f"about {estimate.values[0]:.0f} of 200 devices, {low:.0f} to {high:.0f} at 95%; the truth is 80")
