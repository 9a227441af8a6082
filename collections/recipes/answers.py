"""What workers answer about recipes: importing this module declares it."""

from recipes import budget, numbers, refusals
from recipes.planner import guarantees, operations

__all__ = ["budget", "guarantees", "numbers", "operations", "refusals"]
