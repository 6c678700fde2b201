"""The result of a grading: verdicts, evidence, and their JSON form."""
