"""Rerandomizable public-key encryption: one interface, one file per scheme; this is the registry."""
