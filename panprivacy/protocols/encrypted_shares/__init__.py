"""Local pan-privacy with two servers: encrypted shares and proofs (LPP section 5, Algorithm 6).

Joins `encryption` and `protocols.prio3`, and knows nothing of messages, tasks or recipes. Devices whose
recipe has one server need not import it.
"""
