"""Set-up: our server and hooks in the files of clients, and what stands in those files now."""
