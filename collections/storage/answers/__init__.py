"""Questions whose answers take long to compute, stored with their answers.

Others declare a `kinds.Kind` in their app's module `answers`, or in one that it imports, and call
`questions.ask`. A process that serves requests stores the question; a worker answers it into its row
(`computation`), and the request waits for the row until one deadline. Any other process computes the answer
itself. An answer depends on what is asked alone: it is found again by that, and never changes.

It must not know what is asked.
"""

__all__ = ["kinds", "questions"]
