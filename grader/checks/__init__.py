"""The checks: one folder for each, and `common` for what several checks share."""
