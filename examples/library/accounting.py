"""What counts of randomized bits cost together: the exact ε of a release, and of three of them."""

from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum

# 1,000 devices send one bit each, which a coin of ε = 2 may flip; only the sum is released.
count = RandomizedResponseSum(n=1_000, epsilon0=2.0)
once = epsilon_of([count], delta=1e-6)
thrice = epsilon_of([count] * 3, delta=1e-6)

print(f"one release: ε = {once:.3f}; three: ε = {thrice:.3f}, at δ = 1e-6")
assert once < 2.0 and thrice < 3 * once
