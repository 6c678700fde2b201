"""The report as one HTML page, with figures, for a browser.

    document   a `Report` → the page: what a student may see of each check
    panel      what all figures share; one module for each subject:
    findings   a fault in memory: both accesses, both threads, the buffer as a strip
    traffic    bytes and sectors moved against the fewest possible
    occupancy  how many blocks a multiprocessor holds at once
    timing     the rounds of a benchmark: torch and the submission, interval, tiers
    ladder     the kernels of an assignment side by side
    roofline   the kernels below the roofline of a GPU
    environment loads the templates, also those of the pages of a class
    templates/ the page and its figures (Jinja2): inline SVG, no script, nothing from elsewhere

Jinja2 escapes every string. Strings also pass `student_view.safe`, which takes out
control characters and cuts long text.
"""
