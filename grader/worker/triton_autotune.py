"""Replaces autotuning outside of timing: each call takes the next configuration.

An autotuner times all its configurations once and then uses only the fastest, so that tests on one
machine see only one of them. Here nothing is timed: calls rotate through the configurations, so
that the tests find a submission that is wrong for one of them. This also works without a GPU, where
an autotuner cannot time. A case that is called again gets the same ones again.

As in triton: pruning, each configuration's own `pre_hook`, and heuristics (another decorator).
The first call with a key is special, as there. Tuning launches each configuration on the call's own
arguments, again and again, and then resets those of `reset_to_zero`. Here one trial stands for all
of them, with the configuration that is then used. So a kernel that adds to an output without
`reset_to_zero`, and one that relies on it in every call, fail here as outside the grader.
"""

import weakref
from typing import Any

from grader.worker import worker_log

# As in the autotuner, configurations that need more than the GPU has are skipped.
_UNFIT = ("OutOfResources", "CompileTimeAssertionFailure", "PTXASError")


class Turns:
    """The turn that each autotuner takes next; the `first` one in its first call."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._next: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._before = self._next.copy()  # the call on this case

    def take(self, tuner: Any) -> int:
        """Return the autotuner's turn, and go on to the next one."""
        turn = self._next.get(tuner, self._first)
        self._next[tuner] = turn + 1
        return turn

    def call_begins(self, *, again: bool) -> None:
        """Go on, or back to the turns of the call on this case that is made `again`."""
        if again:
            self._next = self._before.copy()
        else:
            self._before = self._next.copy()


def install(turn: int = 0, *, trials: bool = False) -> Turns:
    """Replace the choice of configurations in every autotuner; the first call takes this turn.

    Without `trials`, as where launches are counted, a first call has only the reset.
    """
    from triton.runtime.autotuner import Autotuner

    Autotuner.grader_turns = turns = Turns(turn)
    Autotuner.grader_trials = trials
    Autotuner.run = _run
    return turns


def _run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    try:
        configs = list(tuner.prune_configs(kwargs))
        turn = tuner.grader_turns.take(tuner)
        _tune_once(tuner, configs, turn, args, kwargs)
        for attempt in range(len(configs)):
            config = configs[(turn + attempt) % len(configs)]
            try:
                return _launch(tuner, config, turn, len(configs), args, kwargs)
            except Exception as error:
                if not _unfit(error) or attempt == len(configs) - 1:
                    raise
    finally:
        tuner.nargs = None
    return None


def _tune_once(tuner: Any, configs: list[Any], turn: int, args: Any, kwargs: Any) -> None:
    """Do what tuning does before the first launch with a key: a trial, and the reset."""
    everything = {**tuner.nargs, **kwargs}
    key = [everything[name] for name in tuner.keys if name in everything]
    key += [str(value.dtype) for value in everything.values() if hasattr(value, "dtype")]
    seen = tuner.__dict__.setdefault("grader_keys", set())
    if not configs or len(tuner.configs) < 2 or tuple(key) in seen:
        return
    seen.add(tuple(key))
    # What `restore_value` names, a trial leaves as it was.
    if tuner.grader_trials and not tuner.restore_value:
        _try_out(tuner, configs[turn % len(configs)], everything, args, kwargs)
    tuner.pre_hook({**everything, **configs[0].all_kwargs()}, reset_only=True)


def _try_out(tuner: Any, config: Any, everything: dict[str, Any], args: Any, kwargs: Any) -> None:
    """Launch once as `Autotuner._bench` does, and say so."""
    settings = config.all_kwargs()
    current = {**everything, **settings}
    if config.pre_hook is not None:
        config.pre_hook(current)
    tuner.pre_hook(current)
    try:
        tuner.fn.run(*args, **{**kwargs, **settings})
    except Exception as error:
        tuner.post_hook(current, exception=error)
        if not _unfit(error):
            raise
    else:
        tuner.post_hook(current, exception=None)
    worker_log.tell("trial")


def _launch(
    tuner: Any, config: Any, turn: int, configs: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    clash = kwargs.keys() & config.kwargs.keys()
    if clash and configs > 1:
        names = ", ".join(sorted(clash))
        raise ValueError(
            f"Conflicting meta-parameters: {names}. Make sure that you don't re-define "
            "auto-tuned symbols."
        )
    tuner.best_config = config
    settings = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **settings})
    worker_log.tell(
        "autotune",
        kernel=tuner.base_fn.__name__,
        configurations=configs,
        call=turn,
        config=str(config),
    )
    return tuner.fn.run(*args, **kwargs, **settings)


def _unfit(error: BaseException) -> bool:
    return type(error).__name__ in _UNFIT
