"""What each command of `grade` does, without its command line."""
