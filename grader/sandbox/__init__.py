"""Run an untrusted program: start it, confine it, limit it, end it."""
