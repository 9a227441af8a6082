"""Prio3: secret shares of a measurement with a proof that it is valid (VDAF draft 20, section 7)."""
