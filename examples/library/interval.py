"""Where the truth may lie: bounds of a mean of bits that hold for every number of devices."""

from panprivacy.statistics.intervals.chernoff import largest_mean, least_mean

low, high = least_mean(290, 1_000, 0.025), largest_mean(290, 1_000, 0.025)
print(f"290 of 1,000: {low:.3f} to {high:.3f} at 95%")
assert low < 0.29 < high
