"""What wrong elements have in common, as a sentence that leads a student to the mistake.

    error_pattern     the first sentence that fits; it asks the others in turn
    *_hypothesis      … as those of another formula, of other inputs, of a part of a sum, of a tile
    row_scale         … as those of a mean or a root that is computed differently
    misplaced         … as those of other places; moved_factor: … where one factor is another's
    known_mistake     … as those of a mistake that the assignment's oracle knows
    wrong_places      where they are; error_map: a picture of that

None of this decides a verdict: `judge.compare` does.
"""
