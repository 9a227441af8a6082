"""What the audit log records about a shuffler's batches."""

from log.audit.registry import action_declare

BATCH_REGISTERED = action_declare(
    "batch_registered", "Shuffled collection registered", public=True, shown=("cohort_size",)
)
BATCH_SHUFFLED = action_declare(
    "batch_shuffled", "Full batch shuffled and handed on", public=True, shown=("cohort_size",)
)
BATCH_ENDED = action_declare("batch_ended", "Batch deleted", public=True, shown=("full",))
