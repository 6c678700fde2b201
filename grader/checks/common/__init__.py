"""What several checks need: a case laid out in memory, diagnoses, findings."""
