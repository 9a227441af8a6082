"""Entries of the log as sentences, with names and links where entries have identifiers.

Apps declare actions; what pages say of them is here. An action without a sentence is shown by its title.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.models import Entry
from recipes.models import Recipe
from recipes.selectors import recipes_of_subjects
from web.numbers import number

SYSTEM = "The system"


@dataclass(frozen=True)
class Told:
    """One entry, ready to be shown.

    Attributes:
        entry: as stored.
        sentence: what happened, with links.
        identifier: of the recipe that it is about; else empty.
    """

    entry: Entry
    sentence: SafeString
    identifier: str


def told(entries: Iterable[Entry], *, drafts: bool) -> list[Told]:
    """Entries as sentences, in their order.

    Args:
        drafts: whether the reader may open drafts, so that they are linked.
    """
    shown = list(entries)
    recipes = recipes_of_subjects(entry.subject for entry in shown)
    return [_told(entry, recipes.get(entry.subject), drafts=drafts) for entry in shown]


def _told(entry: Entry, recipe: Recipe | None, *, drafts: bool) -> Told:
    what = _subject(entry, recipe, drafts=drafts)
    tell = _SENTENCES.get(entry.action, _by_title)
    try:
        sentence = tell(entry, what)
    except (KeyError, TypeError, ValueError, AttributeError):  # another version wrote other details
        sentence = _by_title(entry, what)
    return Told(entry, sentence, str(recipe.identifier or "") if recipe is not None else "")


def _subject(entry: Entry, recipe: Recipe | None, *, drafts: bool) -> SafeString:
    if recipe is not None:
        if recipe.identifier:
            return _link(recipe.name, "recipe", recipe.identifier)
        return _link(recipe.name, "recipe-draft", recipe.pk) if drafts else format_html("“{}”", recipe.name)
    kind, _, name = entry.subject.partition(" ")
    if kind == "population" and name:
        try:
            return _link(name, "population", name)
        except NoReverseMatch:
            return format_html("“{}”", name)
    if kind == "series" and name:
        return _link(str(entry.details.get("name") or name), "series", name)
    if kind in ("draft", "proposal") and name.isdigit():
        gone = entry.details.get("name")
        return format_html("“{}”", gone) if isinstance(gone, str) else format_html("number {}", name)
    return format_html("“{}”", entry.subject)


def _link(name: str, page: str, key: Any) -> SafeString:
    return format_html('“<a href="{}">{}</a>”', reverse(page, args=[key]), name)


def _who(entry: Entry) -> str:
    return entry.actor or SYSTEM


def _by_title(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{}: {}. By {}.", entry.get_action_display(), what, entry.actor or "the system")


def _published(entry: Entry, what: SafeString) -> SafeString:
    if entry.details.get("simulation"):
        return format_html("{} published the simulation {}.", _who(entry), what)
    population = entry.details.get("population")
    approved = _approved_by(entry)
    if not population:
        return format_html("{} published the recipe {}.{}", _who(entry), what, approved)
    asked = _link(population, "population", population)
    return format_html(
        "{} published the recipe {} for the population {}.{}", _who(entry), what, asked, approved
    )


def _series_published(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} published the series {}.{}", _who(entry), what, _approved_by(entry))


def _approved_by(entry: Entry) -> str:
    """What is added where publishing needed the approval of another analyst."""
    approved: dict[object, str] = {
        "another account": " Another account had approved it.",
        "operator": " The operator published it, without the approval of another analyst.",
    }
    return approved.get(entry.details.get("approved_by"), "")


def _declined(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} declined {}: “{}”.", _who(entry), what, entry.details["note"])


def _drafted(entry: Entry, what: SafeString) -> SafeString:
    changes: Mapping[str, Any] = entry.details
    if all(before is None for before, _ in changes.values()):
        return format_html("{} drafted the recipe {}.", _who(entry), what)
    names = _listed(name.replace("_", " ") for name in sorted(changes))
    return format_html("{} changed {} of the draft {}.", _who(entry), names, what)


def _withheld(entry: Entry, what: SafeString) -> SafeString:
    back = " What it had spent was given back." if entry.details.get("spending_returned") else ""
    by = f" by {entry.actor}" if entry.actor else ""
    reason = entry.details.get("reason", "no reason is stated")
    return format_html("The result of {} was withheld{}: {}.{}", what, by, reason, back)


def _announced(entry: Entry, what: SafeString) -> SafeString:
    return format_html(
        "{} announced intrusion {} of {} into the state of {}: {}",
        _who(entry),
        entry.details["number"],
        entry.details["allowed"],
        what,
        entry.details["reason"],
    )


def _population_created(entry: Entry, what: SafeString) -> SafeString:
    epsilon, delta = entry.details.get("epsilon"), entry.details.get("delta")
    budget = (
        "without a budget"
        if epsilon is None
        else f"with a budget of ε = {number(epsilon)}, δ = {number(delta)}"
    )
    return format_html("{} created the population {} {}.", _who(entry), what, budget)


_OF_POPULATIONS = {"epsilon": "ε", "delta": "δ"}


def _population_changed(entry: Entry, what: SafeString) -> SafeString:
    changes = _listed(
        f"{_OF_POPULATIONS.get(name, name)} from {_value(before)} to {_value(after)}"
        for name, (before, after) in sorted(entry.details.items())
    )
    return format_html("{} changed the population {}: {}.", _who(entry), what, changes)


def _denied(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} was refused the page {}.", entry.subject, entry.details["path"])


def _account(entry: Entry, what: SafeString) -> SafeString:
    details = entry.details
    if details["change"] == "renamed":
        return format_html("{} renamed the account “{}” to {}.", _who(entry), details["from"], what)
    if details["change"] == "password":
        return format_html("{} changed the password of {}.", _who(entry), what)
    verb = {"created": "created", "deleted": "deleted"}[details["change"]]
    return format_html("{} {} the account {}.", _who(entry), verb, what)


def _permission(entry: Entry, what: SafeString) -> SafeString:
    details, who = entry.details, _who(entry)
    holder = "" if entry.subject.startswith("group ") else "the account "
    match details["change"]:
        case "joined":
            return format_html("{} let {}{} join {}.", who, holder, what, _listed(details["groups"]))
        case "left":
            return format_html("{} took {}{} out of {}.", who, holder, what, _listed(details["groups"]))
        case "given":
            return format_html("{} gave {}{} {}.", who, holder, what, _listed(details["permissions"]))
        case "taken":
            return format_html("{} took from {}{} {}.", who, holder, what, _listed(details["permissions"]))
        case "flags":
            flags = _listed(
                f"{name.removeprefix('is_')}: {_value(after)}"
                for name, (_, after) in details["flags"].items()
            )
            return format_html("{} changed what {}{} is: {}.", who, holder, what, flags)
        case "group renamed":
            return format_html("{} renamed the group “{}” to “{}”.", who, details["from"], details["to"])
    return _by_title(entry, what)


def _series_marked(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} marked the series {}: “{}”.", _who(entry), what, entry.details["note"])


def _round_skipped(entry: Entry, what: SafeString) -> SafeString:
    skipped, reason = entry.details["round"], entry.details["reason"]
    return format_html("Round {} of the series {} was skipped: {}.", skipped, what, reason)


def _simple(form: str) -> Callable[[Entry, SafeString], SafeString]:
    return lambda entry, what: format_html(form, who=_who(entry), what=what, subject=entry.subject)


def _listed(parts: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    *first, last = list(parts) or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def _value(value: object) -> str:
    return "none" if value in (None, "") else number(value)


_SENTENCES: dict[str, Callable[[Entry, SafeString], SafeString]] = {
    "recipe_published": _published,
    "recipe_closed": _simple("{who} closed the recipe {what}."),
    "draft_saved": _drafted,
    "draft_deleted": _simple("{who} deleted the draft {what}."),
    "result_released": _simple("The result of {what} was released."),
    "result_withheld": _withheld,
    "intrusion_announced": _announced,
    "approval_asked": _simple("{who} asked for the approval of {what}."),
    "approved": _simple("{who} approved {what}."),
    "declined": _declined,
    "series_published": _series_published,
    "series_stopped": _simple("{who} stopped the series {what}."),
    "series_marked": _series_marked,
    "series_round_skipped": _round_skipped,
    "ohttp_key_introduced": _simple("{who} introduced key {subject} for requests through relays."),
    "population_created": _population_created,
    "population_changed": _population_changed,
    "signed_in": _simple("{subject} signed in."),
    "signed_out_everywhere": _simple("{subject} signed out everywhere."),
    "second_factor_enabled": _simple("{subject} set up a second factor."),
    "second_factor_disabled": _simple("{subject} switched the second factor off."),
    "second_factor_reset": _simple("{who} reset the second factor of {subject}."),
    "recovery_code_used": _simple("{subject} used a recovery code."),
    "recovery_codes_made": _simple("{subject} made new recovery codes."),
    "sign_in_failed": _simple("Somebody failed to sign in as {subject}."),
    "sign_in_locked": _simple("Signing in as {subject} was locked after repeated failures."),
    "subscription_created": _simple("{who} subscribed to notifications."),
    "subscription_deleted": _simple("A subscription of {subject} to notifications ended."),
    "webhook_secret_rotated": _simple("{who} rotated the secret of a webhook."),
    "api_token_created": _simple("{who} made an API token for {subject}."),
    "api_token_revoked": _simple("{who} revoked an API token of {subject}."),
    "api_token_refused": _simple("An API token of {subject} was refused."),
    "access_denied": _denied,
    "account_changed": _account,
    "permission_changed": _permission,
}
"""By the action's name. The log pages of helpers and shufflers know no recipes, and say titles."""
