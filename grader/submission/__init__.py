"""What one student handed in: a folder or an archive, read with care."""
