"""The optional parts of a recipe, one file each."""
