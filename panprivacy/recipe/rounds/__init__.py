"""A recipe in rounds: many results, one after the other, under one budget (SAA, Example 5 and appendix A).

`draft` is such a recipe, not yet published, and `privacy` what all rounds cost together. `document` is the
signed document of all of them, `public_input` the public input of one. `recipe.parts.round` is the
field that marks a recipe as a round. The reasons are in docs/adr/0011-rounds-under-one-document.md.
"""

__all__ = ["document", "draft", "privacy", "public_input"]
