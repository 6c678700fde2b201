"""An assignment as data: the spec, its validation, and the files made from it."""
