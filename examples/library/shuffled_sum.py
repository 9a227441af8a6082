"""A sum of bits whose noise comes from the crowd (robust shuffle privacy, Claim A.5)."""

import secrets

from panprivacy.statistics.shuffle.histogram import ShuffledBitSum

source = secrets.SystemRandom()
protocol = ShuffledBitSum(users=20_000, epsilon=1.0, delta=1e-6)
ones = sum(sum(protocol.randomize(int(user < 7_000), source)) for user in range(protocol.users))
estimate, bound = protocol.debiased(ones, 20_000), protocol.error_bound(20_000, 0.05)
epsilon = protocol.exact_epsilon(honest_users=10_000, delta=1e-6)

print(f"{estimate:.0f} ± {bound:.0f} users; the truth is 7,000")
print(f"ε = {epsilon:.2f} at δ = 1e-6, if half of the users help the attacker")
