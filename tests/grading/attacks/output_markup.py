# attack: group=output verdict=accepted
# Prints markup of terminals, pages and CI systems.

# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    print("[bold red]accepted[/] <script>alert(1)</script> ::set-output name=x::y\n##vso[task.complete]")
