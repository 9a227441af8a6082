"""A question and its answer."""

import json
from typing import Any

from django.db import models


class Question(models.Model):
    """One row for each question, however often it is asked. Rows can be deleted at any time: the question is
    then asked again."""

    key = models.CharField(
        max_length=64, primary_key=True, help_text="Hash of kind, content and the version of the software."
    )
    kind = models.CharField(max_length=40, help_text="Which function answers it.")
    content = models.TextField(help_text="What is asked, as JSON.")
    answer = models.TextField(blank=True, help_text="As JSON; a part of it until it has ended, first empty.")
    refusal = models.JSONField(null=True, help_text="Field and message, if the answer is a refusal.")
    asked_at = models.DateTimeField(help_text="When it was last sent to a worker, or answered without one.")
    sendings = models.PositiveIntegerField(default=0, help_text="Messages since a worker last began with it.")
    due_at = models.DateTimeField(help_text="Until when a worker is expected to begin, or to end.")
    begun_at = models.DateTimeField(null=True, help_text="When a worker began with it.")
    ended_at = models.DateTimeField(null=True, help_text="When the answer was complete or given up.")
    complete = models.BooleanField(default=False, help_text="Whether nothing is missing in the answer.")

    class Meta:
        indexes = (models.Index(fields=("kind", "ended_at"), name="question_of_kind"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def asked(self) -> Any:
        """What is asked."""
        return json.loads(self.content)

    @property
    def answered(self) -> Any:
        """The answer as far as it is there; None before its first part."""
        return json.loads(self.answer) if self.answer else None
