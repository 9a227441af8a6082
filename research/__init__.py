"""The papers' tables, figures and theorems, recomputed and compared with what is printed.

`reproduction` computes the numbers and figures, `theory` shows the theorems by attacks, measured errors and
bounds. Both state numbers and draw figures with the classes of `statements`. Each keeps its results in a
`results.json` (`stored_document`), which pages read, so that none of them computes anything.

Nothing imports it but the commands `manage.py reproduce` and `manage.py theory`, and the pages of the papers
and of the theory: what devices and servers run must not need it.

It must not know anything of the product but `panprivacy`.
"""

__all__ = ["reproduction", "statements", "stored_document", "theory"]
