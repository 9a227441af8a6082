"""Pages of series: all of them, one with its trend, and the form that repeats a recipe."""
