"""Recipes, results and counts in a public log: checked by anyone, offline or as a mirror."""
