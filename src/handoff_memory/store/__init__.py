"""The database: SQL, connections, locks and migrations, without meaning."""
