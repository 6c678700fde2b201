# attack: group=fill verdict=output_limit|time_limit
# Makes files until the file system has no more names.


def silu(input, output, n):
    for i in range(10**7):
        open(f"file{i}", "w").close()
