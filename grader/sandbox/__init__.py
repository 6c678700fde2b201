"""Run a program that we do not trust: start it, confine it, limit it, end it."""
