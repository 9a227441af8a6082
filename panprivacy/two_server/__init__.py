"""Local pan-privacy with two servers: encrypted shares and proofs (LPP section 5, Algorithm 6)."""
