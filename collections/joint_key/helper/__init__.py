"""The helper: it makes half of a recipe's key, checks every report, and gives its part of one decryption."""
