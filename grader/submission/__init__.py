"""Read one student's source files from a folder or an archive."""
