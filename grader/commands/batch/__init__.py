"""Grades the submissions of a class, and merges, summarizes and shows the reports."""
