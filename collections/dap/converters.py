"""Registers the form of DAP identifiers in addresses: once, whichever side's addresses are set up."""

from django.urls import register_converter

from dap.http import ResourceIdConverter, TaskIdConverter

register_converter(TaskIdConverter, "dap_task")
register_converter(ResourceIdConverter, "dap_resource")
