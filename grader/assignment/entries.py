"""Several entries of one assignment: a view of the spec's data for each of them.

`[signature]` is the first entry; each `[[entries]]` table is another one, with kernels, cases and
benchmarks of its own, which name it (`entry`). A view has the form of a spec with this entry alone,
so that all that reads or validates a spec knows of one signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.assignment.problem import Problem, choices
from grader.assignment.toml_locations import KeyPath

Table = Mapping[str, Any]

_LISTS = ("kernels", "cases", "benchmarks")
_HIDDEN = ("hidden_cases", "hidden_weight")  # in the students' copy, for each entry


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """The data of a spec for one entry, with the places of its tables in the whole spec.

    `suffix` is that of the oracle's functions for it: "" for the first entry, else `_ENTRY`.
    """

    name: str
    suffix: str
    data: Table
    at: KeyPath
    places: Mapping[str, tuple[int, ...]]

    def whole(self, problem: Problem) -> Problem:
        """Return a problem of the view with its key in the whole spec."""
        head, rest = "".join(map(str, problem.path[:1])), problem.path[1:]
        if head == "signature":
            return replace(problem, path=(*self.at, *rest))
        if head in self.places and rest and isinstance(rest[0], int):
            return replace(problem, path=(head, self.places[head][rest[0]], *rest[1:]))
        return problem


def entry_views(data: Table) -> list[EntryView]:
    """Return the views of a spec that its schema accepts, that of `[signature]` first."""
    tables = [data["signature"], *data.get("entries", ())]
    first = data["signature"]["entry"]
    views = []
    for number, table in enumerate(tables):
        name = table["entry"]
        places = {
            key: tuple(
                place
                for place, one in enumerate(data.get(key, ()))
                if one.get("entry", first) == name
            )
            for key in _LISTS
        }
        own: dict[str, Any] = {key: data[key] for key in data if key not in ("entries", *_LISTS)}
        own |= {key: [data[key][place] for place in places[key]] for key in _LISTS if places[key]}
        own = {"kernels": [], "cases": [], **own}
        own["kernels"] = [{**kernel, "entry": name} for kernel in own["kernels"]]
        own["signature"] = {key: table[key] for key in table if key not in _HIDDEN}
        others = [other for other in tables if other is not table]
        foreign = {key for other in others for key in _tolerated(other)} - _tolerated(table)
        own["tolerance"] = {k: v for k, v in data["tolerance"].items() if k not in foreign}
        if number:
            own = {key: own[key] for key in own if key not in (*_HIDDEN, "program")}
            own |= {key: table[key] for key in _HIDDEN if key in table}
        views.append(
            EntryView(
                name=name,
                suffix=f"_{name}" if number else "",
                data=own,
                at=("entries", number - 1) if number else ("signature",),
                places=places,
            )
        )
    return views


def _tolerated(signature: Table) -> set[str]:
    """Return what [tolerance] may have a table for: outputs, and types that cases choose."""
    outputs = {one["name"] for one in signature["arguments"] if one.get("role", "in") != "in"}
    lists = (one for one in signature.get("types", {}).values() if isinstance(one, list))
    return outputs.union(*lists)


def entry_problems(data: Table) -> Iterator[Problem]:
    """Yield what is wrong with the names of entries, and entries without kernels or cases."""
    names = [data["signature"]["entry"], *(one["entry"] for one in data.get("entries", ()))]
    counted, unknown = Counter(names), False
    for place, name in enumerate(names[1:]):
        if counted[name] > 1:
            message = f'is "{name}", which is also another entry: choose another'
            yield Problem(("entries", place, "entry"), message)
    for key in _LISTS:
        for place, one in enumerate(data.get(key, ())):
            if "entry" in one and one["entry"] not in names:
                unknown = True
                message = f'is "{one["entry"]}", which is no entry{choices(one["entry"], names)}'
                yield Problem((key, place, "entry"), message)
    if len(names) == 1 or len(counted) < len(names) or unknown:
        return
    for view in entry_views(data):
        for key, what in (("kernels", "kernel"), ("cases", "case")):
            if not view.data[key]:
                yield Problem((*view.at, "entry"), f'is "{view.name}", but no {what} names it')
    if "program" in data:
        message = "needs an assignment with one entry: remove it, or [[entries]]"
        yield Problem(("program",), message)
