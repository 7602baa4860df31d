"""One shared, versioned, tamper-evident memory for several AI agents, with handoff packets."""

__version__ = "0.1.0"
