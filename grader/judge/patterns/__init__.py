"""What wrong elements have in common, as a sentence that leads a student to the mistake.

    error_pattern     the first sentence that fits; it asks the others in turn
    *_hypothesis      the values are those of another formula, of other inputs, of a part of a sum,
                      of a product with a wrong index
    row_scale         … of a mean or a root that is computed differently
    moved_factor      … of a factor that is read from another place
    misplaced         … of other places; reordered: of all elements in another order
    known_mistake     … of a mistake that the assignment's oracle knows
    wrong_places      where they are; error_map draws it

None of this decides a verdict: `judge.compare` does.
"""
