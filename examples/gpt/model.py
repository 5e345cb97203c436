"""A small GPT, and the parts that it is made of: PyTorch's own, and those of ridge.torch in their places."""
from typing import Callable, NamedTuple

import torch
import torch.nn.functional as F

import ridge.torch


class Size(NamedTuple):
    layers: int
    width: int
    heads: int
    hidden: int  # of the feed-forward network
    context: int
    vocabulary: int
    batch: int


class Parts(NamedTuple):
    norm: type  # module: (norm of sum, sum) of sum = x + residual
    attention: type  # module: of q, k and v [batch, heads, context, width of a head]
    ffn: Callable  # (silu(x g^T) (x u^T)) w2^T, w1 = g above u
    loss: Callable  # of x [tokens, width], w [vocabulary, width] and labels: the mean cross-entropy of x w^T


# ---- PyTorch's -------------------------------------------------------------------------------------------------------
class AddRMSNorm(torch.nn.RMSNorm):
    def forward(self, x, residual):
        total = x + residual
        return super().forward(total), total


class Attention(torch.nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


def swiglu_ffn(x, w1, w2):
    gate, up = F.linear(x, w1).chunk(2, -1)
    return F.linear(F.silu(gate) * up, w2)


def loss(x, w, labels):
    return F.cross_entropy(F.linear(x, w), labels)


# ---- ridge's, where there is no module of that name ------------------------------------------------------------------
def fused_loss(x, w, labels):
    return ridge.torch.linear_cross_entropy(x, w, w.new_zeros(w.shape[0]), labels)[0].mean()


PARTS = {
    "torch": Parts(AddRMSNorm, Attention, swiglu_ffn, loss),
    "ridge": Parts(
        ridge.torch.FusedAddRMSNorm,
        ridge.torch.Attention,
        ridge.torch.swiglu_ffn,
        fused_loss,
    ),
}


# ---- the model -------------------------------------------------------------------------------------------------------
class Block(torch.nn.Module):
    def __init__(self, size, parts):
        super().__init__()
        self.heads, self.ffn = size.heads, parts.ffn
        self.norm1, self.norm2 = parts.norm(size.width), parts.norm(size.width)
        self.qkv = torch.nn.Linear(size.width, 3 * size.width, bias=False)
        self.attention = parts.attention(causal=True)
        self.out = torch.nn.Linear(size.width, size.width, bias=False)
        self.w1 = torch.nn.Parameter(torch.empty(2 * size.hidden, size.width))
        self.w2 = torch.nn.Parameter(torch.empty(size.width, size.hidden))

    def forward(self, x, residual):
        y, residual = self.norm1(x, residual)
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        y = self.out(self.attention(q, k, v).transpose(1, 2).flatten(2))
        y, residual = self.norm2(y, residual)
        return self.ffn(y, self.w1, self.w2), residual


class GPT(torch.nn.Module):
    """The mean loss of a batch of tokens. Every sum with the residual is a part of the norm behind it."""

    def __init__(self, size, parts):
        super().__init__()
        self.token = torch.nn.Embedding(size.vocabulary, size.width)
        self.position = torch.nn.Parameter(torch.empty(size.context, size.width))
        self.blocks = torch.nn.ModuleList(Block(size, parts) for _ in range(size.layers))
        self.norm = parts.norm(size.width)
        self.head, self.loss = torch.nn.Parameter(torch.empty(size.vocabulary, size.width)), parts.loss
        for weight in self.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, labels):
        x = self.token(tokens)
        residual = self.position.expand_as(x).contiguous()
        for block in self.blocks:
            x, residual = block(x, residual)
        return self.loss(self.norm(x, residual)[0].flatten(0, 1), self.head, labels.flatten())
