"""What entries can tell of: each app declares its own actions, in a module `actions`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """One thing that entries tell of. Made by `action_declare`.

    Attributes:
        name: stored and hashed in every entry, so it stays for good; at most 40 characters.
        title: what people read instead of it.
        public: whether everybody sees such entries, without who did it.
        shown: names of the details that everybody sees of a public one.
    """

    name: str
    title: str
    public: bool
    shown: tuple[str, ...] = ()


_DECLARED: dict[str, Action] = {}


def action_declare(name: str, title: str, *, public: bool, shown: tuple[str, ...] = ()) -> Action:
    """A new action, known from now on; the arguments are `Action`'s.

    Raises:
        ValueError: another action has this name, or one that is not public shows details.
    """
    if shown and not public:
        raise ValueError(f"{name!r} is not public: everybody would see its details")
    if name in _DECLARED:
        raise ValueError(f"there is an action {name!r} already")
    _DECLARED[name] = Action(name, title, public, shown)
    return _DECLARED[name]


def action_choices() -> list[tuple[str, str]]:
    """Name and title of every action of the installed apps, in the order of the titles."""
    by_title = sorted(_DECLARED.values(), key=lambda action: action.title)
    return [(action.name, action.title) for action in by_title]


def public_action_choices() -> list[tuple[str, str]]:
    """Those of `action_choices` that everybody sees."""
    return [choice for choice in action_choices() if _DECLARED[choice[0]].public]


def action_title(name: str) -> str:
    """An action's title; of one that no installed app declares, its name in words."""
    return _DECLARED[name].title if name in _DECLARED else name.replace("_", " ").capitalize()


def public_actions() -> list[str]:
    """Names of the actions that a recipe's public log shows."""
    return [action.name for action in _DECLARED.values() if action.public]


def shown_details(name: str) -> tuple[str, ...] | None:
    """Names of the details that everybody sees of such an entry; None where nobody sees anything of it."""
    action = _DECLARED.get(name)
    return action.shown if action is not None and action.public else None
