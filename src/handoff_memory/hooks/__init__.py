"""What runs when a client fires a hook: its JSON in, a decision, its JSON out, in time."""
