"""Compiles Triton's kernels ahead of time, and writes them as C: an instance is machine code and PTX of a kernel for Hopper, with
what its launch must know (kernels/peer/triton.h). No GPU is needed, and no Python when they run.

    python3 -m ridge_peers.triton_ahead --fatbinary PROGRAM --out FILE.c
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import subprocess
import tempfile

import triton
from ridge_peers import triton_kernels as kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HOPPER = GPUTarget("cuda", 90, 32)
STORED = {"F32": "fp32", "BF16": "bf16", "F16": "fp16"}


@dataclasses.dataclass
class Instance:
    """`columns` and `rows` of a program's tile; whole: its columns must be all. Aligned: addresses, strides and extents are
    multiples of 16."""

    kernel: str
    dtype: str
    aligned: bool
    arguments: dict  # name: type; "{T}" is the case's type as it is stored. Parameters without one are constants
    constants: dict
    columns: int
    rows: int = 1
    whole: bool = True
    num_warps: int = 4
    num_stages: int = 3

    @property
    def symbol(self):
        return f"triton_{self.kernel}_{self.dtype.lower()}_{self.rows}x{self.columns}" + ("" if self.aligned else "_any")

    @property
    def signature(self):
        return {name: kind.format(T=STORED[self.dtype]) for name, kind in self.arguments.items()}

    def compile(self):
        function = getattr(kernels, "_" + self.kernel)
        function._repr = lambda _: self.symbol  # what @triton.jit(repr=…) sets: the name of the kernel in its code
        signature = self.signature
        specialized = {}
        for place, name in enumerate(function.arg_names):
            if self.aligned and name in signature and signature[name] != "fp32":
                specialized[(place,)] = [["tt.divisibility", 16]]
        signature = {name: signature.get(name, "constexpr") for name in function.arg_names}
        source = ASTSource(fn=function, signature=signature, constexprs=self.constants, attrs=specialized)
        return triton.compile(source, target=HOPPER, options={"num_warps": self.num_warps, "num_stages": self.num_stages})


MATRIX = "*{T}"
L2NORM = dict(x=MATRIX, y=MATRIX, x_stride="i64", y_stride="i64", cols="i32", eps="fp32")
MATMUL = dict(a=MATRIX, b=MATRIX, c=MATRIX, m="i32", n="i32", k="i32", a_row="i64", b_row="i64", c_row="i64", alpha="fp32")
LOGITS = dict(MATMUL, c="*fp32")
SOFTMAX = dict(z="*fp32", b=MATRIX, p=MATRIX, z_stride="i64", p_stride="i64", cols="i32")
CLASSIFY = dict(x=MATRIX, w=MATRIX, b=MATRIX, p=MATRIX, m="i32", n="i32", k="i32", x_row="i64", w_row="i64", p_row="i64")
ROW_MAJOR = dict(a_col=1, b_col=1, c_col=1)


def instances():
    """Every one, each with and without alignment. Tiles and how they are compiled are triton_kernels.py's own."""
    for aligned in True, False:
        for dtype in STORED:
            half = dtype != "F32"
            for kernel, arguments, blocks in (
                ("l2norm_row", L2NORM, (1024, 2048, 4096, 8192, 16384, 32768)),
                ("bias_softmax_row", SOFTMAX, (256, 1024, 4096)),
            ):
                for block in blocks:
                    yield Instance(kernel, dtype, aligned, arguments, {"BLOCK": block}, block, num_warps=kernels.warps_of_row(block))
            for tile, launch in kernels.MATMUL_TILES:
                constants = {**kernels.in_type(tile, half), **ROW_MAJOR}
                for kernel, arguments in (("matmul_tile", MATMUL), ("logits_tile", LOGITS))[: 1 + half]:
                    yield Instance(kernel, dtype, aligned, arguments, constants, tile["N"], tile["M"], whole=False, **launch)
            for columns in 16, 32, 64, 128, 256:
                for tile, launch in kernels.CLASSIFIER_TILES:
                    constants = {**kernels.in_type(tile, half), "N": columns, "w_col": 1}
                    yield Instance("linear_softmax_rows", dtype, aligned, CLASSIFY, constants, columns, tile["M"], **launch)


def write_image(instance, folder, fatbinary):
    """Machine code, and PTX, which the emulator runs, as one of CUDA's fat binaries; returns what its launch must know."""
    compiled = instance.compile()
    known = compiled.metadata
    if known.global_scratch_size or known.profile_scratch_size or known.num_ctas > 1:
        raise SystemExit(f"{instance.symbol}: its launch needs scratch or clusters, which kernels/peer/triton.c does not give")
    if f".entry {instance.symbol}(" not in compiled.asm["ptx"]:
        raise SystemExit(f"{instance.symbol}: Triton gave the kernel another name, as it does when two instances are the same code")
    path = f"{folder}/{instance.symbol}"
    images = []
    for kind, code in ("elf", compiled.asm["cubin"]), ("ptx", compiled.asm["ptx"].encode()):
        with open(f"{path}.{kind}", "wb") as file:
            file.write(code)
        images.append(f"--image3=kind={kind},sm=90a,file={path}.{kind}")
    subprocess.run([fatbinary, "--64", "--compress-all", "--compress-mode=speed", f"--create={path}.fatbin", *images], check=True)
    with open(f"{path}.fatbin", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return 32 * known.num_warps, known.shared, digest


# The section is where cuobjdump, and `ridge asm` by it, looks for device code. The digest is for caches of compiled objects, which
# do not look into an image.
IMAGE = """/* {digest} */
__asm__(".pushsection .nv_fatbin,\\"a\\"\\n.balign 8\\n{symbol}:\\n.incbin \\"{path}\\"\\n.popsection\\n");
extern const unsigned char {symbol}[] __attribute__((visibility("hidden")));
"""
ROW = """    {{"{kernel}", "{symbol}", "{signature}", RIDGE_{dtype}, {aligned}, {columns}, {rows}, {whole}, {n}, {threads}, {shared}, {symbol}}},
"""


def write(out, every, launches):
    with open(out + ".new", "w") as file:
        file.write(f"/* Written by ridge_peers.triton_ahead, Triton {triton.__version__}. */\n#include \"peer/triton.h\"\n\n")
        for instance, (_, _, digest) in zip(every, launches):
            file.write(IMAGE.format(digest=digest, symbol=instance.symbol, path=f"{out}.images/{instance.symbol}.fatbin"))
        file.write("\nconst triton_kernel triton_kernels[] = {\n")
        for instance, (threads, shared, _) in zip(every, launches):
            file.write(ROW.format(kernel=instance.kernel, symbol=instance.symbol, signature=", ".join(instance.signature.values()),
                                  dtype=instance.dtype, aligned=int(instance.aligned), columns=instance.columns, rows=instance.rows, whole=int(instance.whole),
                                  n=len(instance.signature), threads=threads, shared=shared))  # fmt: skip
        file.write(f"}};\nconst int triton_kernel_count = {len(every)};\n")
    os.replace(out + ".new", out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fatbinary", required=True, help="CUDA's program of that name")
    parser.add_argument("--out", required=True, help="the file of C")
    o = parser.parse_args()
    every = list(instances())
    folder = os.path.abspath(o.out) + ".images"
    os.makedirs(folder, exist_ok=True)
    # A cache of its own: Triton's does not tell names apart.
    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        os.environ["TRITON_CACHE_DIR"] = cache
        launches = list(workers.map(write_image, every, [folder] * len(every), [o.fatbinary] * len(every)))
    write(os.path.abspath(o.out), every, launches)


if __name__ == "__main__":
    main()
