"""What the last layer of a network sees of images, computed as quickly as one core can."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch5_networks.image_subjects import Subject, head_of
from pnml_experiments.ch5_networks.kept_features import Features
from pnml_experiments.framework.data import Images

if TYPE_CHECKING:
    from torch import Tensor, nn

# A few images at once stay in the cache of a core: 8 take a third less time each than 32.
BATCH = 8


def feature_function(subject: Subject) -> Callable[[Images], Features]:
    """A function of images that gives their features, by ONNX Runtime where it is installed.

    One thread of ONNX Runtime takes two thirds of the time that PyTorch takes.
    """
    run = feature_runner(subject.network())

    def features(images: Images) -> Features:
        pieces = (images[i : i + BATCH] for i in range(0, len(images), BATCH))
        return np.concatenate([run(next(subject.batches(piece))) for piece in pieces])

    return features


def feature_runner(network: nn.Module) -> Callable[[Tensor], Features]:
    """A function that gives the features (n, d) of a normalised batch of images."""
    run = runner(_without_head(network))
    return lambda batch: np.asarray(run(batch)[0])


def runner(network: nn.Module) -> Callable[[Tensor], list[Any]]:
    """A function that runs a network on a few images and gives its outputs as arrays."""
    quick = find_spec("onnxruntime") is not None and find_spec("onnx") is not None
    return _by_onnx_runtime(network) if quick else _by_torch(network)


def _without_head(network: nn.Module) -> nn.Module:
    """A copy of the network that gives what its last layer saw."""
    from torch import nn

    bare = copy.deepcopy(network)
    head = head_of(bare)
    for part in bare.modules():
        for name, child in part.named_children():
            if child is head:
                setattr(part, name, nn.Identity())
    return bare.eval()


def _by_torch(network: nn.Module) -> Callable[[Tensor], list[Any]]:
    import torch

    def run(batch: Tensor) -> list[Any]:
        with torch.inference_mode():
            found = network(batch)
        return [one.numpy() for one in (found if isinstance(found, tuple) else (found,))]

    return run


def _by_onnx_runtime(network: nn.Module) -> Callable[[Tensor], list[Any]]:
    import warnings

    import onnxruntime  # type: ignore[import-untyped]
    import torch

    file, example = io.BytesIO(), torch.zeros(2, 3, 32, 32)
    axes = {"images": {0: "n"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that writes no second file is the older one
        torch.onnx.export(
            network,
            (example,),
            file,  # type: ignore[arg-type]
            dynamo=False,
            input_names=["images"],
            dynamic_axes=axes,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(
        file.getvalue(), options, providers=["CPUExecutionProvider"]
    )

    def run(batch: Tensor) -> list[Any]:
        return list(session.run(None, {"images": batch.numpy()}))

    return run
