"""An assignment as data: the spec, its validation, and the files generated from it."""
