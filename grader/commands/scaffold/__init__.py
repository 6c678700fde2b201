"""`grade new`: the first files of an assignment, which work before anything is filled in.

    options ──draft──→ Draft ──templates/──→ spec, oracle, handout, solved files, samples
                             ──generated_for──→ stubs, header, fingerprints

The skeleton solves a placeholder: every output is the sum of all inputs. It therefore
validates and verifies at once, and each later change is a small step from a working
state. FILL IN marks what the author replaces.
"""
