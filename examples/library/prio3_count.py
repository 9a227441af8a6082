"""Two aggregators count without seeing a measurement, and refuse what is neither 0 nor 1 (Prio3Count)."""

import secrets

from panprivacy.protocols.prio3.prio3 import Prio3Count

CONTEXT = b"example"
vdaf = Prio3Count()
verify_key = secrets.token_bytes(32)  # both aggregators know it, no client does
leader, helper = [], []
for measurement in (1, 0, 1, 1):
    nonce = secrets.token_bytes(16)
    public_share, shares = vdaf.shard(CONTEXT, measurement, nonce, secrets.token_bytes(vdaf.rand_size))
    views = [vdaf.verify_init(verify_key, CONTEXT, i, nonce, public_share, shares[i]) for i in (0, 1)]
    message = vdaf.verifier_shares_to_message(CONTEXT, [share for _, share in views])
    leader.append(vdaf.verify_next(views[0][0], message))
    helper.append(vdaf.verify_next(views[1][0], message))

total = vdaf.unshard([vdaf.aggregate(leader), vdaf.aggregate(helper)])
print("sum:", *total)
assert total == (3,)
