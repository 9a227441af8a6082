"""Protocols between devices and servers, each by its standard or paper."""
