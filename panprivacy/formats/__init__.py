"""Bytes as text, canonical JSON, TLS messages, times, tables, and values with ranges that people can read."""
