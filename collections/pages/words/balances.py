"""What a population's budget still lets through, in a sentence."""

from ledger.selectors import LIKE_THE_LAST, Balance
from web.numbers import number


def left_sentence(balance: Balance) -> str:
    """What can be published yet, or why that is not said."""
    if not balance.events:
        return "Nothing is spent yet."
    if not balance.readable:
        unknown = "Another version of this software wrote an event of the ledger, so what is spent is unknown"
        return f"{unknown} and nothing can be published." if balance.budget else f"{unknown}."
    if balance.budget is None:
        return "No budget is set: spending is recorded, nothing is refused."
    if balance.overspent:
        return "More is spent than the budget: nothing can be published."
    return _more_sentence(balance.more_like_the_last)


def _more_sentence(more: int | None) -> str:
    if more is None:
        return "How many more recipes fit is not computed yet."
    if more == 0:
        return "No more recipes like the last one fit."
    if more == 1:
        return "About 1 recipe like the last one is left."
    if more == LIKE_THE_LAST:
        return f"At least {number(more)} recipes like the last one are left."
    return f"About {number(more)} recipes like the last one are left."
