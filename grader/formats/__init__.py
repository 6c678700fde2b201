"""The report in the form that each reader wants: one module for each reader."""
