"""The Atom feed of results (RFC 4287), for feed readers and programs."""
