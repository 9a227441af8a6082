from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "results"
    label = "releases"  # of its tables and of addresses of the admin site

    def ready(self) -> None:
        from dap.leader.progress_signal import task_moved
        from publishing.target import results_declare
        from results.selectors import signed_result

        results_declare(signed_result)
        task_moved.connect(_task_moved)


def _task_moved(*, task_id: bytes, **_: object) -> None:
    """A recipe's task is named like the recipe."""
    from recipes.steps import step_due

    step_due(recipe=task_id.hex())
