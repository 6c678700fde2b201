"""`grade new`: the first files of an assignment, which work without changes.

    options ──draft──→ Draft ──templates/──→ spec, oracle, handout, solved files, samples
                             ──generated_for──→ stubs, header, fingerprints

The skeleton solves a placeholder: every output is the sum of all inputs. So it passes
`grade verify` at once, and each change is a small step from a working state. FILL IN
marks the parts that the author replaces.
"""
