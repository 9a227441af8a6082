"""The actions that entries record: each app declares its own, in a module `actions`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """One action that entries record. Made by `action_declare`.

    Attributes:
        name: stored and hashed in every entry, so it stays for good; at most 40 characters.
        title: what people read instead of it.
        public: whether such entries are public, without their actor.
        shown: names of the public details of a public action.
    """

    name: str
    title: str
    public: bool
    shown: tuple[str, ...] = ()


_DECLARED: dict[str, Action] = {}


def action_declare(name: str, title: str, *, public: bool, shown: tuple[str, ...] = ()) -> Action:
    """Register a new action; the arguments are `Action`'s.

    Raises:
        ValueError: another action has this name, or one that is not public shows details.
    """
    if shown and not public:
        raise ValueError(f"{name!r} is not public: readers would see its details")
    if name in _DECLARED:
        raise ValueError(f"there is an action {name!r} already")
    _DECLARED[name] = Action(name, title, public, shown)
    return _DECLARED[name]


def action_choices() -> list[tuple[str, str]]:
    """Name and title of every action of the installed apps, in the order of the titles."""
    by_title = sorted(_DECLARED.values(), key=lambda action: action.title)
    return [(action.name, action.title) for action in by_title]


def public_action_choices() -> list[tuple[str, str]]:
    """The public ones of `action_choices`."""
    return [choice for choice in action_choices() if _DECLARED[choice[0]].public]


def action_title(name: str) -> str:
    """An action's title; of one that no installed app declares, its name in words."""
    return _DECLARED[name].title if name in _DECLARED else name.replace("_", " ").capitalize()


def public_actions() -> list[str]:
    """Names of the actions that a recipe's public log shows."""
    return [action.name for action in _DECLARED.values() if action.public]


def shown_details(name: str) -> tuple[str, ...] | None:
    """Names of the public details of such an entry; None if nothing of it is public."""
    action = _DECLARED.get(name)
    return action.shown if action is not None and action.public else None
