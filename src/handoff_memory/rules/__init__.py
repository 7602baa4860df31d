"""Pure rules: each a function of state and input to a verdict; none calls another."""
