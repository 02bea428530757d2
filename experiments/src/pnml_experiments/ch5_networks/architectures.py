"""The networks of the tables, layer by layer as their published weights name them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, relu


def _convolution(channels: int, out: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels, out, kernel, stride=stride, padding=kernel // 2, bias=False)


class _Bottleneck(nn.Module):
    """A layer of a dense block: 1×1 and 3×3 convolutions, appended to what came in."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv1 = _convolution(channels, 4 * growth, 1)
        self.bn2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = _convolution(4 * growth, growth, 3)

    def forward(self, x: Tensor) -> Tensor:
        found = self.conv1(relu(self.bn1(x)))
        found = self.conv2(relu(self.bn2(found)))
        return torch.cat([x, found], dim=1)


class _DenseBlock(nn.Module):
    def __init__(self, channels: int, layers: int, growth: int) -> None:
        super().__init__()
        self.layer = nn.Sequential(
            *(_Bottleneck(channels + i * growth, growth) for i in range(layers))
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out


class _Transition(nn.Module):
    """Half the channels and half the resolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv1 = _convolution(channels, channels // 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return avg_pool2d(self.conv1(relu(self.bn1(x))), 2)


class DenseNet(nn.Module):
    """DenseNet-BC with compression ½ for images of 32×32; by default the DenseNet-BC-100.

    >>> DenseNet(10, layers=2)(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """

    def __init__(self, classes: int, *, layers: int = 16, growth: int = 12) -> None:
        super().__init__()
        width = 2 * growth
        self.conv1 = _convolution(3, width, 3)
        self.block1 = _DenseBlock(width, layers, growth)
        width += layers * growth
        self.trans1 = _Transition(width)
        width = width // 2
        self.block2 = _DenseBlock(width, layers, growth)
        width += layers * growth
        self.trans2 = _Transition(width)
        width = width // 2
        self.block3 = _DenseBlock(width, layers, growth)
        width += layers * growth
        self.bn1 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, 3, 32, 32)."""
        x = self.trans1(self.block1(self.conv1(x)))
        x = self.trans2(self.block2(x))
        x = relu(self.bn1(self.block3(x))).mean(dim=(2, 3))
        out: Tensor = self.fc(x)
        return out


class _BasicBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(channels, out, 3, stride)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = _convolution(out, out, 3)
        self.bn2 = nn.BatchNorm2d(out)
        same = stride == 1 and channels == out
        self.shortcut = nn.Sequential(
            *([] if same else [_convolution(channels, out, 1, stride), nn.BatchNorm2d(out)])
        )

    def forward(self, x: Tensor) -> Tensor:
        found = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        return relu(found + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet for images of 32×32; by default the ResNet-34.

    >>> ResNet(10, blocks=(1, 1, 1, 1), width=4)(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """

    def __init__(
        self, classes: int, *, blocks: tuple[int, ...] = (3, 4, 6, 3), width: int = 64
    ) -> None:
        super().__init__()
        self.conv1 = _convolution(3, width, 3)
        self.bn1 = nn.BatchNorm2d(width)
        self.stages = len(blocks)
        channels = width
        for i, count in enumerate(blocks):
            out = width * 2**i
            layers = []
            for j in range(count):
                layers.append(_BasicBlock(channels, out, stride=2 if i and not j else 1))
                channels = out
            self.add_module(f"layer{i + 1}", nn.Sequential(*layers))
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, 3, 32, 32)."""
        x = relu(self.bn1(self.conv1(x)))
        for i in range(self.stages):
            x = self.get_submodule(f"layer{i + 1}")(x)
        out: Tensor = self.linear(x.mean(dim=(2, 3)))
        return out


class _WideBlock(nn.Module):
    """Two 3×3 convolutions, each after its normalisation, beside a shortcut."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv1 = _convolution(channels, out, 3, stride)
        self.bn2 = nn.BatchNorm2d(out)
        self.conv2 = _convolution(out, out, 3)
        self.convShortcut = None if channels == out else _convolution(channels, out, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        start = relu(self.bn1(x))
        found: Tensor = self.conv2(relu(self.bn2(self.conv1(start))))
        return found + (x if self.convShortcut is None else self.convShortcut(start))


class _WideStage(nn.Module):
    def __init__(self, channels: int, out: int, blocks: int, stride: int) -> None:
        super().__init__()
        self.layer = nn.Sequential(
            *(_WideBlock(out if j else channels, out, 1 if j else stride) for j in range(blocks))
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out


class WideResNet(nn.Module):
    """WideResNet for images of 32×32; by default the WRN-40-2.

    >>> WideResNet(10, depth=10, widen=1)(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """

    def __init__(self, classes: int, *, depth: int = 40, widen: int = 2) -> None:
        super().__init__()
        blocks = (depth - 4) // 6
        a, b, c = 16 * widen, 32 * widen, 64 * widen
        self.conv1 = _convolution(3, 16, 3)
        self.block1 = _WideStage(16, a, blocks, 1)
        self.block2 = _WideStage(a, b, blocks, 2)
        self.block3 = _WideStage(b, c, blocks, 2)
        self.bn1 = nn.BatchNorm2d(c)
        self.fc = nn.Linear(c, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, 3, 32, 32)."""
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        out: Tensor = self.fc(relu(self.bn1(x)).mean(dim=(2, 3)))
        return out
