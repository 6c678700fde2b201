"""The result of a grading: verdicts, evidence, and the JSON form of both."""
