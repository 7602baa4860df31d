"""The pages, a module a group: parse the question, ask the services, name a template."""
