"""Tokens that admit devices: `issuer`, `attester`, and what the site knows of them (`admission`)."""
