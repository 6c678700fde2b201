"""The command line: options, help and exit codes; `commands` does the work."""
