"""The statistics of timing relative to torch: estimates, decisions about tiers, proposals."""
