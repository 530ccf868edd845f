"""The import of PyTorch, which only the training of encoders needs."""

from __future__ import annotations

from typing import Any

from treewright.errors import ConfigError

__all__ = ["checked_torch", "find_device"]


def checked_torch() -> Any:
    """Import PyTorch, or raise an error that says how to install it."""
    try:
        import torch
    except ImportError:
        raise ConfigError(
            "training a policy with an encoder needs PyTorch, which is not installed: pip install 'treewright[torch]'. "
            "Parsing with a trained model does not need it"
        ) from None
    return torch


def find_device(name: str) -> str:
    """Return the device for a setting; ``auto`` is a GPU if there is one.

    Raises:
        ConfigError: if the device is not available.
    """
    torch = checked_torch()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if gpus else "cpu"
    if name.startswith("cuda"):
        number = int(name.partition(":")[2] or 0)
        if number >= gpus:
            found = f"PyTorch finds {gpus} GPUs" if gpus else "PyTorch finds no GPU"
            raise ConfigError(f"cannot be {name!r}: {found}; use 'cpu' or 'auto'", setting="device", value=name)
    return name
