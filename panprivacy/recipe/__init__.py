"""The recipe: the signed document that defines a question, and what devices and servers do with it."""
