"""Hydra 1.3 and 1.4, with OmegaConf 2.3 and 2.4, behind one interface."""

import sys
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, cast

import hydra.utils
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.experimental.callback import Callback
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from aiayn.config.identity import flatten
from aiayn.config.store import conf_directory

_IS_1_3 = hydra.__version__.startswith("1.3.")

BEHAVIOUR: dict[str, Any] = {"version_base": "1.3"} if _IS_1_3 else {}
"""1.3 has to be told not to behave as 1.1 does; 1.4 has one behaviour, and warns of the argument."""


def register_resolver(name: str, function: Callable[..., Any]) -> None:
    """Let expressions `${name:...}` call a function."""
    if _IS_1_3:
        OmegaConf.register_new_resolver(name, function, replace=True)
    else:  # OmegaConf 2.4 would warn of an int for a float
        OmegaConf.register_resolver(name, function, replace=True, annotation_validation="off")  # type: ignore[call-arg]


def initialized() -> AbstractContextManager[None]:
    """Hydra with the folder conf/, whose state is the earlier one afterwards."""
    return cast("AbstractContextManager[None]", hydra.initialize_config_dir(str(conf_directory()), **BEHAVIOUR))


def show_by_hydra(verb: str) -> None:
    """Let Hydra read `sys.argv`, and show what its flags ask for."""
    main = hydra.main(config_path=str(conf_directory()), config_name=verb, **BEHAVIOUR)(lambda _: None)
    with _help_read_late() if _IS_1_3 and sys.version_info >= (3, 14) else nullcontext():
        main()


@contextmanager
def _help_read_late() -> Iterator[None]:
    """Leave out help that is no text: Hydra 1.3 writes one when it is printed, but Python 3.14 reads it at once."""

    def add(parser: ArgumentParser, *names: str, **settings: Any) -> Action:
        if not isinstance(settings.get("help", ""), str):
            del settings["help"]
        return super(ArgumentParser, parser).add_argument(*names, **settings)

    ArgumentParser.add_argument = cast("Any", add)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ArgumentParser.add_argument  # the one of its base remains


def allowed(composed: DictConfig, *targets: str) -> AbstractContextManager[Any]:
    """Let Hydra 1.4 import what the user's own configuration names, in logging and callbacks, and these targets."""
    if _IS_1_3:
        return nullcontext()
    every = (*_targets(composed), *targets)
    return cast("AbstractContextManager[Any]", hydra.utils.execution_whitelist(every))  # type: ignore[attr-defined]


def create(node: Mapping[str, Any], **arguments: Any) -> Any:
    """Call what `_target_` names. Deeper down, as in a whole configuration, a `_target_` may be plain data."""
    words = {key: value for key, value in node.items() if key.startswith("_") and key.endswith("_")}
    given = {key: value for key, value in node.items() if key not in words}
    permission = {} if _IS_1_3 else {"_execution_whitelist_": str(node["_target_"])}
    # Hydra 1.4 takes no objects in a node: the arguments are added to what Hydra has found.
    target = hydra.utils.instantiate({**words, "_partial_": True}, **permission, _recursive_=False, _convert_="all")
    bound = partial(target, **given, **arguments)
    return bound if node.get("_partial_") else bound()


def context_of(
    composed: DictConfig, *, callbacks: Callback | None = None, loader: ConfigLoader | None = None
) -> HydraContext:
    """What Hydra hands to sweepers and launchers of a multirun, by default with the loader in use and no callbacks."""
    loader = loader or GlobalHydra.instance().config_loader()
    permission: dict[str, Any] = {} if _IS_1_3 else {"execution_whitelist": _targets(composed)}
    every = cast("Any", callbacks or Callback())  # has the same methods as Hydra's collection of them
    return HydraContext(config_loader=loader, callbacks=every, **permission)


def _targets(composed: DictConfig) -> tuple[str, ...]:
    """The names of classes and functions in Hydra's own node, of callbacks and of logging."""
    leaves = flatten(cast("dict[str, Any]", OmegaConf.to_container(composed.hydra, resolve=False)))
    return tuple(str(value) for key, value in leaves.items() if key.endswith(("._target_", ".class", ".()")))
