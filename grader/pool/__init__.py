"""Long-lived processes that grade one submission after another."""
