"""Ours tried against software that is not ours.

The folders `node_…` have the packages of one program for Node each, pinned in its lock file by their hashes.
Tests install them, and skip where Node is missing or the packages cannot be had. The folder `go_tlog` has a
program for Go and Debian's golang-golang-x-mod-dev, and its tests skip where one of them is missing.
The folder `rust_prio` has one for Rust and the crate `prio`, pinned in its lock file as well: its tests skip
without cargo, or where the crates cannot be had.
"""
