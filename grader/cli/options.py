"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from grader.cli import completion
from grader.vocabulary import Language, Visibility


class Registered(click.types.StringParamType):
    """One of the registered names; `names` is called late, because any module may register one."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name if it is registered."""
        known = tuple(self._names())
        if value not in known:
            self.fail(f"'{value}' is not one of {', '.join(known)}", param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the names for the help."""
        return f"[{'|'.join(self._names())}]"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names."""
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


_LANGUAGES = Registered(lambda: map(str, Language))
assignment = click.argument("assignment", shell_complete=completion.assignments)
assignments = click.argument(
    "assignments",
    nargs=-1,
    metavar="[ASSIGNMENT]...",
    shell_complete=completion.assignments,
)
# Cases that are published are also those after the due date.
_SHOWN = {
    str(Visibility.AFTER_DUE_DATE): frozenset({Visibility.AFTER_DUE_DATE}),
    str(Visibility.AFTER_PUBLISHED): frozenset(
        {Visibility.AFTER_DUE_DATE, Visibility.AFTER_PUBLISHED}
    ),
}
show = click.option(
    "--show",
    "shown",
    type=click.Choice(list(_SHOWN)),
    help="Show students the cases with this visibility too: after_due_date, or after_published, "
    "which shows both.",
)


def shown_visibilities(word: str | None) -> frozenset[Visibility]:
    """Return the visibilities that `--show` makes visible."""
    return _SHOWN[word] if word else frozenset()


device = click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="Run kernels on the GPU (cuda), on the CPU (cpu), or on the GPU if there is one (auto).",
)
kernels = click.option(
    "--kernel",
    "kernels",
    multiple=True,
    shell_complete=completion.kernels,
    help="Only this kernel (repeatable).",
)
language = click.option("--language", type=_LANGUAGES, help="Only this language.")
languages = click.option(
    "--language",
    "languages",
    multiple=True,
    type=_LANGUAGES,
    help="Only this language (repeatable).",
)
cluster_tls = click.option(
    "--cluster-tls",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with ca.pem, cert.pem and key.pem for a cluster beyond this machine.",
)
