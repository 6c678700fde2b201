# attack: group=output verdict=runtime_error
# Raises an exception whose words are escapes.


def silu(input, output, n):
    raise ValueError("\x1b[2J[/bold]\u202e\x00" + "A" * 100000)
