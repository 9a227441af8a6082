"""The recipe files in examples/ that docs/commands.md gives to `collect`: they fit the files beside them."""

import re
from pathlib import Path

import pytest

from devices_sim.trust_models import reporting_model
from panapp.recipe_file import has_rounds, read_recipe_file
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.rounds.draft import RoundsDraft
from panprivacy.trust_models import TRUST_MODELS

ROOT = Path(__file__).resolve().parents[2]
COLLECTED = re.findall(
    r"manage\.py collect (examples/\S+) --(events|values) (examples/\S+)",
    (ROOT / "docs/commands.md").read_text(),
)


@pytest.mark.parametrize(("recipe", "option", "devices"), COLLECTED)
def test_a_command_of_the_docs_has_a_cohort_and_the_devices_for_it(
    recipe: str, option: str, devices: str
) -> None:
    """What `collect` does with them takes up to a minute each; this is what it refuses before."""
    members = read_recipe_file(ROOT / recipe)
    rounds = RoundsDraft.from_mapping(members) if has_rounds(members) else None
    draft = RecipeDraft.from_mapping(members) if rounds is None else rounds.recipe
    model, statistic = reporting_model(draft), draft.calibrated_statistic()
    assert model.option == option
    with model.workload(ROOT / devices, statistic):
        pass  # every row was read
    with (ROOT / devices).open() as lines:
        found = {line.split(",")[0] for line in lines} - {"device"}
    likely = TRUST_MODELS[draft.trust].release_probability(
        members["cohort_size"], len(found), statistic.reporting_rate
    )
    assert likely >= 1 - 1e-6


def test_the_docs_collect_each_kind_of_value_and_rounds() -> None:
    named = {Path(recipe).stem for recipe, _, _ in COLLECTED}
    assert {"recipe", "categories", "rare_categories", "vector_mean", "rounds", "shuffle"} <= named
