"""`grade new`: an assignment's first files, which work before anything is filled in.

    what is asked for ─draft─→ Draft ─┬ spec, oracle, handout, solved files, samples
                                      └ stubs, header, fingerprints (as `fingerprint` makes them)

The skeleton solves a placeholder: every output is the sum of all inputs. So it
validates and verifies at once, and each change afterwards is a small step from
something that works. What is to be replaced says FILL IN.
"""
