"""The dashboard: read-only pages on the shared memory, for a browser on this machine."""
