"""The app's name in the database: another helper has the short one."""

from django.apps import AppConfig


class HelperConfig(AppConfig):
    """The helper of recipes with a joint key."""

    name = "joint_key.helper"
    label = "joint_helper"
