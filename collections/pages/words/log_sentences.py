"""Entries of the log as sentences, with names and links in place of the entries' identifiers.

Apps declare actions; their texts on pages are here. An action without a sentence is shown by its title.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from log.audit.models import Entry
from pages.words.subjects import Subjects, linked
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
    subjects = Subjects.of(shown)
    return [_told(entry, subjects, drafts=drafts) for entry in shown]


def _told(entry: Entry, subjects: Subjects, *, drafts: bool) -> Told:
    what = subjects.in_words(entry, drafts=drafts)
    tell = _SENTENCES.get(entry.action, _by_title)
    try:
        sentence = tell(entry, what)
    except (KeyError, TypeError, ValueError, AttributeError):  # another version wrote other details
        sentence = _by_title(entry, what)
    return Told(entry, sentence, subjects.identifier(entry))


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
    asked = linked(population, "population", population)
    return format_html(
        "{} published the recipe {} for the population {}.{}", _who(entry), what, asked, approved
    )


def _series_published(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} published the series {}.{}", _who(entry), what, _approved_by(entry))


def _approved_by(entry: Entry) -> str:
    """The addition if publishing needed the approval of another analyst."""
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


def _held(entry: Entry, what: SafeString) -> SafeString:
    issued = number(entry.details["issued"])
    return format_html("The result of {} is held: more reports than {} tokens explain.", what, issued)


def _allowed(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} let the held result of {} pass: {}.", _who(entry), what, entry.details["reason"])


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


def _budget_set(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} set the budget of {}: {}.", _who(entry), what, budget_in_words(entry))


def budget_in_words(entry: Entry) -> str:
    """The budget that an entry records, as a clause."""
    epsilon, delta = entry.details.get("epsilon"), entry.details.get("delta")
    return "none" if epsilon is None else f"ε = {number(epsilon)}, δ = {number(delta)}"


_OF_POPULATIONS = {"epsilon": "ε", "delta": "δ"}


def attributes_in_words(entry: Entry) -> str:
    """The attributes that an entry declares, each with its values."""
    declared = entry.details["attributes"]
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in sorted(declared.items()))


def _attributes_declared(entry: Entry, what: SafeString) -> SafeString:
    return format_html(
        "{} declared the attributes of the population {}: {}.", _who(entry), what, attributes_in_words(entry)
    )


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


def _rounds_published(entry: Entry, _: SafeString) -> SafeString:
    name = entry.details.get("name") or entry.subject
    if entry.details.get("simulation"):
        return format_html("{} published {} in rounds, for simulated devices.", _who(entry), name)
    what = linked(str(name), "series", entry.details["series"])
    return format_html(
        "{} published {} in {} rounds.{}", _who(entry), what, entry.details["rounds"], _approved_by(entry)
    )


def _input_published(entry: Entry, _: SafeString) -> SafeString:
    return format_html(
        "{} published the public input of round {}: {}.", _who(entry), entry.details["round"], entry.subject
    )


def _series_marked(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{} marked the series {}: “{}”.", _who(entry), what, entry.details["note"])


def _shared(entry: Entry, _: SafeString) -> SafeString:
    readers = "everyone" if entry.details["public"] else "accounts of this site only"
    return format_html("{} made the {} readable for {}.", _who(entry), entry.subject, readers)


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
    "reports_sealed": _simple("The stored reports of {what} were sealed: they cannot change."),
    "draft_saved": _drafted,
    "draft_deleted": _simple("{who} deleted the draft {what}."),
    "result_released": _simple("The result of {what} was released."),
    "list_accepted": _simple("The list of accepted reports of {what} was signed."),
    "verdict_filed": _simple("{who} filed what others found who recomputed the result of {what}."),
    "result_held": _held,
    "result_allowed": _allowed,
    "result_withheld": _withheld,
    "intrusion_announced": _announced,
    "approval_asked": _simple("{who} asked for the approval of {what}."),
    "approved": _simple("{who} approved {what}."),
    "declined": _declined,
    "series_published": _series_published,
    "rounds_published": _rounds_published,
    "round_input_published": _input_published,
    "series_stopped": _simple("{who} stopped the series {what}."),
    "series_marked": _series_marked,
    "series_round_skipped": _round_skipped,
    "ohttp_key_introduced": _simple("{who} introduced key {subject} for requests through relays."),
    "attributes_declared": _attributes_declared,
    "budget_set": _budget_set,
    "hpke_key_introduced": _simple("{who} introduced key {subject} for reports."),
    "signing_key_changed": _simple("The signing key of {subject} was changed."),
    "partner_key_introduced": _simple("The key of the {subject} was introduced."),
    "partner_key_retired": _simple("The key of the {subject} was retired."),
    "population_created": _population_created,
    "population_changed": _population_changed,
    "signed_in": _simple("{subject} signed in."),
    "signed_out_everywhere": _simple("{subject} signed out everywhere."),
    "log_renamed": _simple("The public log lost entries, and goes on under a new name, {subject}."),
    "second_factor_enabled": _simple("{subject} set up a second factor."),
    "second_factor_disabled": _simple("{subject} switched the second factor off."),
    "second_factor_reset": _simple("{who} reset the second factor of {subject}."),
    "recovery_code_used": _simple("{subject} used a recovery code."),
    "recovery_codes_made": _simple("{subject} made new recovery codes."),
    "sign_in_failed": _simple("A sign-in as {subject} failed."),
    "sign_in_locked": _simple("Signing in as {subject} was locked after repeated failures."),
    "subscription_created": _simple("{who} subscribed to notifications."),
    "subscription_deleted": _simple("A subscription of {subject} to notifications ended."),
    "webhook_secret_rotated": _simple("{who} rotated the secret of a webhook."),
    "dashboard_created": _simple("{who} made the {subject}."),
    "dashboard_shared": _shared,
    "dashboard_deleted": _simple("{who} deleted the {subject}."),
    "api_token_created": _simple("{who} made an API token for {subject}."),
    "api_token_revoked": _simple("{who} revoked an API token of {subject}."),
    "api_token_refused": _simple("An API token of {subject} was refused."),
    "access_denied": _denied,
    "simulation_started": _simple("{who} started a private simulation."),
    "simulation_deleted": _simple("{who} deleted a private simulation."),
    "account_changed": _account,
    "permission_changed": _permission,
}
"""By the action's name. The log pages of helpers and shufflers know no recipes, and show titles."""
