"""The context benchmark: what enters a model's context with the governor and without it."""
