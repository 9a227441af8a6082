"""The recipe: the signed document that says what is asked, and what devices and servers do with it."""
