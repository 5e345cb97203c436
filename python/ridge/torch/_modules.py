"""Modules that stand in for PyTorch's of the same name: parameters, defaults and state dictionaries are theirs.

What ridge does not compute, such as tensors without elements, PyTorch's own forward does.
"""
import torch

from ._operations import REGISTERED as ops


def _rows(x, normalized_shape):
    """x as [..., cols], where the last dimension has all those that are normalized. None: ridge has no norm of it."""
    kept = x.dim() - len(normalized_shape)
    if kept < 0 or tuple(x.shape[kept:]) != tuple(normalized_shape) or x.numel() == 0:
        return None
    return x.reshape(*x.shape[:kept], -1) if kept else x.reshape(1, -1)


def _flat(parameter, x, normalized_shape, value):
    """A norm's parameter [cols]; where there is none, what makes no difference."""
    if parameter is not None:
        return parameter.reshape(-1)
    return x.new_full((torch.Size(normalized_shape).numel(),), value)


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm by ridge.layer_norm."""

    def forward(self, x):
        rows = _rows(x, self.normalized_shape)
        if rows is None:
            return super().forward(x)
        gamma = _flat(self.weight, x, self.normalized_shape, 1)
        beta = _flat(self.bias, x, self.normalized_shape, 0)
        return ops["layer_norm"](rows, gamma, beta, self.eps).reshape(x.shape)


class RMSNorm(torch.nn.RMSNorm):
    """torch.nn.RMSNorm by ridge.rms_norm."""

    def _eps(self):
        """PyTorch's where none is given: of the type that it computes with, fp32."""
        return torch.finfo(torch.float32).eps if self.eps is None else self.eps

    def forward(self, x):
        rows = _rows(x, self.normalized_shape)
        if rows is None:
            return super().forward(x)
        return ops["rms_norm"](rows, _flat(self.weight, x, self.normalized_shape, 1), self._eps()).reshape(x.shape)


class FusedAddRMSNorm(RMSNorm):
    """(RMSNorm of sum, sum) of sum = x + residual, by ridge.add_rms_norm."""

    def forward(self, x, residual):
        rows = _rows(x, self.normalized_shape)
        if rows is None or residual.shape != x.shape:
            total = x + residual
            return super().forward(total), total
        if x.dtype != residual.dtype:  # the sum has the wider type, as PyTorch's
            wide = torch.promote_types(x.dtype, residual.dtype)
            rows, residual = rows.to(wide), residual.to(wide)
        gamma = _flat(self.weight, x, self.normalized_shape, 1)
        y, total = ops["add_rms_norm"](rows, _rows(residual, self.normalized_shape), gamma, self._eps())
        return y.reshape(x.shape), total.reshape(x.shape)


class Attention(torch.nn.Module):
    """ridge.attention's out of q [batch, heads, m, d], k and v [batch, kv_heads, n, d], with its options."""

    def __init__(self, causal=False, scale=0.0, window=(-1, -1), softcap=0.0):
        super().__init__()
        self.causal, self.scale, self.window, self.softcap = causal, scale, tuple(window), softcap

    def forward(self, q, k, v, sink=None, slope=None):
        return ops["attention"](q, k, v, self.causal, self.scale, self.window, self.softcap, sink, slope)[0]

    def extra_repr(self):
        return f"causal={self.causal}, scale={self.scale}, window={self.window}, softcap={self.softcap}"


class _NoLoss(torch.nn.Module):
    def __init__(self, *_, **__):
        raise NotImplementedError("this PyTorch has no LinearCrossEntropyLoss")


_Loss = getattr(torch.nn, "LinearCrossEntropyLoss", _NoLoss)


class LinearCrossEntropyLoss(_Loss):  # type: ignore[misc, valid-type]
    """torch.nn.LinearCrossEntropyLoss by ridge.linear_cross_entropy, which stores no logits.

    A label outside of the classes makes the loss NaN. Class weights, probabilities as targets and further dimensions of
    the outputs are left to PyTorch."""

    def _is_ridge_s(self, x, target):
        indices = target.dtype in (torch.int32, torch.int64) and target.dim() == x.dim() - 1 and target.numel() > 0
        return indices and self.weight is None and not self.out_features

    def forward(self, x, target):
        if not self._is_ridge_s(x, target):
            return super().forward(x, target)
        w, b = self.linear.weight, self.linear.bias
        b = w.new_zeros(self.num_classes, dtype=torch.float32) if b is None else b.float()
        rows, labels = x.reshape(-1, x.shape[-1]), target.reshape(-1)
        ignored = -100 if self.ignore_index is None else self.ignore_index
        losses, _ = ops["linear_cross_entropy"](rows, w, b, labels, ignored, self.label_smoothing)
        counts = labels != ignored
        losses = losses.masked_fill(counts & ((labels < 0) | (labels >= self.num_classes)), torch.nan)
        if self.reduction == "none":
            return losses.reshape(target.shape)
        return losses.sum() / counts.sum() if self.reduction == "mean" else losses.sum()
