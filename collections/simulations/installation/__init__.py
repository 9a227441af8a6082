"""An installation on this machine, with its partners: for `collect`, `demo` and the tests."""
