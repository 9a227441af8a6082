"""A recipe in rounds: many results, one after the other, under one budget (SAA, Example 5 and appendix A).

`draft` is such a recipe before it is published, `privacy` what all rounds cost together, `document` what is
signed of all of them, and `public_input` what everybody may read before one. `panprivacy.asked_round` is the
member by which a recipe says that it is one of them. Why it is so stands in
docs/adr/0025-rounds-are-recipes-under-one-document.md.
"""

__all__ = ["document", "draft", "privacy", "public_input"]
