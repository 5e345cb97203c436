"""The peers that `ridge run --peers` has: one list. A row names a target, and what computes it:

    Peer(target, kind, make, idea)

`make(case)` returns run(inputs, outputs), which computes on tensors and leaves the results in the outputs. It raises Refused,
with the reason, for a case that it does not take. `kind` decides the variant's name and what must be installed. Computing
modules are imported when a peer is made: this file is read where there is no PyTorch.
"""

import dataclasses
import importlib
import importlib.metadata
import importlib.util
import os
import shutil

CPU, CUDA = "cpu", "cuda"
# What `--peers` takes besides torch, which is all of them: (variant, packages, name of the library).
KINDS = {
    "eager": ("torch_eager", ("torch",)),
    "compile": ("torch_compile", ("torch",)),
    "triton": ("triton", ("torch", "triton")),
    "liger": ("liger", ("torch", "triton", "liger_kernel")),
}
LIBRARIES = {"torch": ("PyTorch", "torch"), "triton": ("Triton", "triton"), "liger_kernel": ("Liger", "liger-kernel")}


@dataclasses.dataclass
class Peer:
    target: str
    kind: str
    make: object
    idea: str
    backends: tuple = (CPU, CUDA)
    graph: bool = True  # a CUDA graph can hold it
    missing: str = ""  # why no version of the library can compute this target
    plain: bool = False  # it gets matrices of f32 as lists of rows (dltensor.rows_of), and needs no PyTorch

    @property
    def names(self):
        return [f"{backend}/{KINDS[self.kind][0]}" for backend in self.backends]

    @property
    def packages(self):
        return () if self.plain else KINDS[self.kind][1]

    def absent(self, name):
        """Why it cannot run on this machine, whatever the case; "": it may."""
        for package in self.packages:
            if not importlib.util.find_spec(package):
                return f"{LIBRARIES[package][0]} is not installed: no module {package} in the Python that runs peers"
        compilers = (os.environ.get("CXX"), "g++", "clang++", "c++")
        if self.kind == "compile" and name.startswith(CPU) and not any(map(shutil.which, filter(None, compilers))):
            return "torch.compile needs a C++ compiler: install g++"
        return self.missing


def versions(kinds):
    """{library: version} of the kinds' packages that are installed."""
    packages = {package: None for kind in kinds for package in KINDS[kind][1]}
    found = {}
    for package in packages:
        if importlib.util.find_spec(package):
            try:
                found[LIBRARIES[package][0]] = importlib.metadata.version(LIBRARIES[package][1])
            except importlib.metadata.PackageNotFoundError:
                found[LIBRARIES[package][0]] = "of no known version"
    return found


# ---- what makes a peer -----------------------------------------------------------------------------------------------
def _from(module, name):
    return lambda case: getattr(importlib.import_module(f"ridge_peers.{module}"), name)(case)


def _compiled(name):
    def make(case):
        import torch
        from ridge_peers import eager, formulas

        torch._dynamo.reset()  # what other cases compiled counts towards a limit
        return torch.compile(eager.copied(getattr(formulas, name))(case), dynamic=False)

    return make


def _pytorch(target, idea, name=None):
    name = name or target
    return [
        Peer(target, "eager", _from("eager", name), idea),
        Peer(target, "compile", _compiled(name), "torch.compile of the formula, which writes to the outputs"),
    ]


def _triton(target, idea, name=None):
    return Peer(target, "triton", _from("triton_kernels", name or target), idea, (CUDA,))


def _liger(target, idea, missing=""):
    return Peer(target, "liger", _from("liger", target), idea, (CUDA,), missing=missing)


_MATMULS = (
    "cluster_multicast", "cublaslt_gemm", "cutlass_gemm", "gemm_ladder", "micro_tiling_matmul", "tcgen05_basic",
    "tcgen05_pipelined", "tma_pipeline", "two_stage_pipeline", "warp_specialization",
)  # fmt: skip
_NO_LSE = "Liger's loss returns no lse, which is an output of this target"

PEERS = [
    # rows
    *_pytorch("fused_l2norm", "vector_norm in fp32, then div to the output"),
    *_pytorch("l2_norm", "vector_norm in fp32, div and the activation, the last one to the output"),
    *_pytorch("online_softmax", "torch.softmax to the output"),
    *_pytorch("scaled_softmax", "mul, masked_fill and softmax; in 16 bits in fp32 and copied to the output"),
    *_pytorch("masked_softmax", "add and softmax; in 16 bits in fp32 and copied to the output"),
    *_pytorch("layer_norm", "F.layer_norm and the activation; without one its result is copied to the output"),
    *_pytorch("rms_norm", "F.rms_norm and the activation; without one its result is copied to the output"),
    *_pytorch("add_layer_norm", "add and F.layer_norm, whose result is copied, or goes through the activation"),
    *_pytorch("add_rms_norm", "add and F.rms_norm, whose result is copied, or goes through the activation"),
    *_pytorch("norm_activation", "F.layer_norm and gelu to the output; in 16 bits in fp32, and copied"),
    *_pytorch("norm_activation_rms", "F.rms_norm and silu to the output; in 16 bits in fp32, and copied"),
    *_pytorch("softmax_backward", "PyTorch's own; with a scale in fp32, and scaled to the output"),
    *_pytorch("l2_norm_backward", "the formula in fp32, operation by operation, copied to the output"),
    *_pytorch("layer_norm_backward", "var_mean and PyTorch's own in fp32, copied to the outputs"),
    *_pytorch("rms_norm_backward", "the formula in fp32, operation by operation, copied to the outputs"),
    *_pytorch("vertical_fusion", "sin, add and sqrt, the last one to the output"),
    *_pytorch("horizontal_fusion", "mul, clamp and add, each to its output"),
    *_pytorch("memory_bound", "mul, add, clamp, and add to the output"),
    _triton("fused_l2norm", "a row a program, in registers"),
    _triton("online_softmax", "a row a program, in registers"),
    _liger("online_softmax", "Liger's softmax, copied to the output"),
    _liger("layer_norm", "Liger's layer norm, copied to the output"),
    _liger("rms_norm", "Liger's RMS norm, copied to the output"),
    # products
    *_pytorch("gemm", "torch.mm to the output"),
    *[peer for target in _MATMULS for peer in _pytorch(target, "torch.mm to the output", "gemm")],
    *_pytorch("batched_gemm", "torch.bmm to the output"),
    *_pytorch("gemm_epilogue", "addmm, biases and activation in the output; in 16 bits in fp32, and copied"),
    *_pytorch("linear_norm_activation", "addmm, F.layer_norm, and gelu to the output; in 16 bits in fp32, and copied"),
    *_pytorch("swiglu_ffn", "mm, silu, mul, and mm to the output"),
    _triton("gemm", "tiles by tl.dot, of 128 x 128 where these fill the device", "matmul"),
    _triton("micro_tiling_matmul", "tiles by tl.dot, of 128 x 128 where these fill the device", "matmul"),
    # classifiers
    *_pytorch("linear_softmax", "addmm, and softmax to the output; in 16 bits in fp32, and copied"),
    *_pytorch("multihead_linear_softmax", "baddbmm and softmax, copied to the output"),
    *_pytorch("linear_cross_entropy", "addmm, logsumexp and gather; losses copied"),
    *_pytorch("linear_cross_entropy_backward", "logits again, their gradient in place, mm to the outputs"),
    *_pytorch("linear_cross_entropy_grad", "addmm, logsumexp, the logits' gradient in place, mm to the outputs"),
    _triton("linear_softmax", "tiles of rows by tl.dot, all classes of a row in registers"),
    _liger("linear_cross_entropy", "Liger's fused loss", _NO_LSE),
    _liger("linear_cross_entropy_grad", "Liger's fused loss and gradients", _NO_LSE),
    # attention
    *_pytorch("attention", "FlashAttention of scaled_dot_product_attention, copied to the outputs"),
    *_pytorch("attention_backward", "FlashAttention's backward, copied to the outputs"),
]
