"""What `collect`, `series simulate`, `stream` and `demo` do."""
