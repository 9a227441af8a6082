"""Progress in words, in the coarse steps and bands of panprivacy/formats/rounded_counts.py."""

from panprivacy.formats.rounded_counts import rounded_beyond, rounding_step
from web.numbers import number


def progress_text(count: int, cohort_size: int) -> str:
    """Progress as a clause: "about 6,200 of 10,000"; of a cohort below the first step "fewer than 5"; beyond
    the cohort size "at least 20,000"."""
    shown, step = rounded_beyond(count, cohort_size), rounding_step(cohort_size)
    if shown > cohort_size:
        return f"at least {number(shown)}"
    if count >= cohort_size:
        return f"at least {number(cohort_size)} of {number(cohort_size)}"
    if step >= cohort_size:
        return f"fewer than {number(cohort_size)}"
    if shown == 0:
        return f"fewer than {number(step)} of {number(cohort_size)}"
    return f"about {number(shown)} of {number(cohort_size)}"
