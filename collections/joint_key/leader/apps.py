"""The app's name in the database: another leader has the short one."""

from django.apps import AppConfig


class LeaderConfig(AppConfig):
    """The leader of recipes with a joint key."""

    name = "joint_key.leader"
    label = "joint_leader"
