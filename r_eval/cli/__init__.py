"""The command line: `app` holds the commands; nothing heavy is imported before a command needs it."""
