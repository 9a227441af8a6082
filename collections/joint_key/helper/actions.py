"""What the audit log records about recipes with a joint key in which the helper takes part."""

from log.audit.registry import action_declare

RECIPE_JOINED = action_declare("joint_recipe_joined", "Half of a joint key given", public=True)
LIST_SIGNED = action_declare(
    "joint_list_signed", "List of accepted reports signed", public=True, shown=("reports", "list")
)
PART_GIVEN = action_declare("joint_part_given", "Part of a decryption given", public=True, shown=("list",))
RECIPE_ENDED = action_declare("joint_recipe_ended", "Half of a joint key deleted", public=True)
