"""Random shapes, masks, orders of warps and numbers of SMs: what edge cases hold still is drawn here.

  shapes.py RIDGE-EMULATED [--seed N] [--cases N] [--target NAME] [--variant PATTERN]

A case is one `ridge verify`, which draws the operands. Each that is not right is told with the command that repeats it. Closes with
the line that tests/emulator/run counts. Exit status: 0 all right, 1 not.
"""
import argparse
import os
import random
import subprocess
import sys

EDGES = [1, 63, 64, 65, 100, 127, 128, 129, 190, 191, 192, 193, 250, 320, 383, 384, 385, 500, 640]
APART = [-300, -129, -128, -64, -1, 0, 1, 63, 64, 100, 128, 200, 400]  # keys beside queries
WINDOW = [-1, 0, 1, 30, 63, 64, 100, 127, 128, 129, 191, 200, 300]


def attention(draw, *behind):
    m, d, heads = draw.choice(EDGES), draw.choice([8, 40, 64]), draw.choice([1, 3])
    n, causal = max(1, m + draw.choice(APART)), draw.randrange(2)
    options = [f"causal={causal}", f"left={draw.choice(WINDOW)}"]
    if not causal:
        options.append(f"right={draw.choice(WINDOW)}")
    if draw.random() < 0.3:
        options += ["sinks=1", "softcap=3"]
    return [m, 1, heads, n, 1, d, d, *behind], options


CASES = {
    "attention": attention,
    "attention_varlen": lambda draw: attention(draw, draw.choice([1, 2, 3, 5])),
}


def verify(ridge, target, variant, draw):
    sizes, options = CASES[target](draw)
    command = [ridge, "verify", target, "--backend", "cuda", "--variant", variant, "--sizes", "x".join(map(str, sizes))]
    command += ["--dtype", draw.choice(["bf16", "f16"]), "--layouts", "1", "--seed", str(draw.randrange(10000))]
    for option in options:
        command += ["--option", option]
    device = {"EMULATOR_SM_COUNT": str(draw.choice([1, 2, 6])), "EMULATOR_SEED": str(draw.randrange(100000))}
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **device}, timeout=600, check=False)
    counts = ran.stdout.strip().split("\n")[-1]
    if ran.returncode == 0 and not counts.startswith("0 ok"):
        return True
    print(*(f"{name}={value}" for name, value in device.items()), *command, counts, ran.stderr[-300:], file=sys.stderr)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20, help="of each target")
    parser.add_argument("--target", choices=CASES, action="append")
    parser.add_argument("--variant", default="cuda/optimized:tile_64")
    o = parser.parse_args()
    draw = random.Random(o.seed)
    right = [verify(o.ridge, target, o.variant, draw) for target in o.target or CASES for _ in range(o.cases)]
    print(f"{sum(right)} passed, {len(right) - sum(right)} failed, 0 skipped")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
