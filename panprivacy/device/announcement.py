"""A recipe's question, in lines for the person who runs a device, shown ahead of taking part."""

from panprivacy.formats.display import plain
from panprivacy.recipe.document import PublishedRecipe


def announcement(recipe: PublishedRecipe) -> list[str]:
    """Question, event, values, ε and identifier of a verified recipe, one line each.

    Every text in a verified recipe is printable and of one line.
    """
    event = recipe.event
    lines = [f"question: {recipe.question}"]
    if recipe.event_name is not None:
        lines.append(f"event: {recipe.event_name}" + (f" ({event.definition})" if event.definition else ""))
    if event.labels:
        lines.append(f"values: {'; '.join(event.labels)}")
    if recipe.segments:
        lines.append(f"segments: {'; '.join(recipe.segments)}")
    if recipe.target is not None:
        lines.append(f"asks only devices with: {recipe.target.target}")
    lines.append(f"privacy loss (ε): {_epsilons(recipe)}")
    lines.append(f"identifier: {recipe.identifier}")
    return lines


def _epsilons(recipe: PublishedRecipe) -> str:
    """The ε that the recipe states, and that of a single report if it differs."""
    document = recipe.document
    stated = f"{plain(document['epsilon'])} at δ = {plain(document['delta'])}"
    alone = [guarantee.epsilon for guarantee in recipe.calibrated_statistic.local_guarantees()]
    most = max((epsilon for epsilon in alone if epsilon is not None), default=document["epsilon"])
    if most == document["epsilon"]:
        return stated
    return f"{stated}; {plain(most, '.3g')} for a single report"
