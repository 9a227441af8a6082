"""The papers' numbers and figures, computed again beside what is printed."""
