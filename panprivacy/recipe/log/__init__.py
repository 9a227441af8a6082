"""Recipes, results and counts in a public log: checked by any reader, offline or as a mirror."""
