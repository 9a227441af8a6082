"""The text of mails: plain, one mail for one event."""

from notifications.models import Delivery

SITE = "Private telemetry"

_HAPPENED = {
    "recipe.published": "The recipe “{}” is published.",
    "recipe.cohort_reached": "Enough devices have reported to the recipe “{}” for a result.",
    "recipe.closed": "The recipe “{}” is closed.",
    "result.released": "The result of the recipe “{}” is released.",
    "result.withheld": "The result of the recipe “{}” is withheld.",
    "result.held": "The result of the recipe “{}” is held: there are more reports than tokens.",
    "series.round_skipped": "A round of the series “{}” was skipped.",
    "rule_fired": "One of your rules fired for the recipe “{}”.",
    "budget.nearly_spent": "The budget of the population “{}” is nearly spent.",
}


def letter(delivery: Delivery, *, page: str, confirm: str, unsubscribe: str) -> tuple[str, str]:
    """Subject and text of a mail.

    Args:
        page: address of the page that it is about; empty if it is about no event.
        confirm, unsubscribe: addresses that do so.
    """
    event = delivery.event
    if delivery.purpose == Delivery.Purpose.CONFIRM:
        return f"Confirm your address for {SITE}", _text(
            f"An account of {SITE} wants to send its notifications to this address. If it is yours, open",
            confirm,
            "The link works once, for 2 days. If you did not ask for it, do nothing.",
        )
    if event is None:
        ending = f"To end these mails, open\n{unsubscribe}"
        return f"A test of {SITE}", _text("Notifications reach this address.", ending)
    happened = _HAPPENED[event.kind].format(_one_line(event.name))
    ending = f"To end these mails, open\n{unsubscribe}"
    return f"{event.its_kind.title}: {_one_line(event.name)}", _text(happened, page, ending)


def _text(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs) + "\n"


def _one_line(name: str) -> str:
    return "".join(each if each.isprintable() else " " for each in name)
