"""Trains a small GPT with PyTorch's own modules and with ridge.torch's: same weights, same data, both loss curves.

    PYTHONPATH=python python3 examples/gpt/main.py [--device cuda] [--dtype bfloat16] [--compile] [--json FILE]

Both sides train in one process, in blocks of steps that alternate (A B, B A, …), so that both meet what the machine does
meanwhile. Memory is that of a process of its own for each side. Exits with 77 where PyTorch is missing.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import corpus
from model import GPT, PARTS, Size

SIZES = {
    "cpu": Size(layers=2, width=64, heads=4, hidden=192, context=64, vocabulary=2048, batch=8),
    "cuda": Size(layers=8, width=1024, heads=16, hidden=2816, context=1024, vocabulary=16384, batch=16),
}


class Side:
    """A model with its optimizer: what it lost and how long it took, step by step."""

    def __init__(self, name, o):
        torch.manual_seed(o.seed)
        self.model = GPT(SIZES[o.device], PARTS[name]).to(o.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=o.rate)
        self.loss_of = torch.compile(self.model) if o.compile else self.model
        low = o.dtype != "float32"  # weights and their updates stay float32
        self.types = torch.autocast(o.device, torch.bfloat16, enabled=low)
        self.losses, self.times = [], []

    def step(self, tokens, labels):
        begin = time.perf_counter()
        self.optimizer.zero_grad()
        with self.types:
            loss = self.loss_of(tokens, labels)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())  # waits for the GPU, whose next step does not begin before
        if loss.is_cuda:
            torch.cuda.synchronize()
        self.times.append(1e3 * (time.perf_counter() - begin))


def train(sides, data, block):
    """All steps by all sides, a block of one behind a block of the other."""
    for i, first in enumerate(range(0, len(data), block)):
        for side in sides[:: -1 if i % 2 else 1]:
            for tokens, labels in data[first : first + block]:
                side.step(tokens, labels)


# ---- memory ----------------------------------------------------------------------------------------------------------
def memory_of_process(name):
    """What training takes beyond model and data, in bytes, measured by a process of its own. It counts what PyTorch's
    allocator does not know, too."""
    said = subprocess.run([sys.executable, *sys.argv, "--memory-of", name], check=True, stdout=subprocess.PIPE)
    return int(said.stdout)


def memory_of_training(name, o):
    data, side = list(corpus.batches(SIZES[o.device], 4, o.seed, o.device)), Side(name, o)
    if o.device == "cpu":
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak is what is resident now
    before = memory_peak(o.device)
    train([side], data, len(data))
    return memory_peak(o.device) - before


def memory_peak(device):
    """On a GPU what is held, which PyTorch's allocator does not give back."""
    if device == "cuda":
        free, total = torch.cuda.mem_get_info()
        return total - free
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


# ---- what is told ----------------------------------------------------------------------------------------------------
def speedup(record, block):
    """Median over the blocks of PyTorch's time divided by ridge's beside it: what slows both does not count."""
    starts = range(0, record["steps"], block)
    torch_s, ridge_s = ([statistics.median(s["ms"][i : i + block]) for i in starts] for s in record["sides"].values())
    return statistics.median(a / b for a, b in zip(torch_s, ridge_s))


def show(record, every):
    sides = record["sides"]
    print(f"{record['machine']}, PyTorch {record['torch']}, {record['dtype']}, {record['size']}")
    print("step   " + "".join(f"{name:>10}" for name in sides))
    for i in [*range(0, record["steps"], every), record["steps"] - 1]:
        print(f"{i:6} " + "".join(f"{side['losses'][i]:10.4f}" for side in sides.values()))
    print(f"largest difference of a step's losses: {record['largest_difference']:.2e}")
    for name, side in sides.items():
        print(f"{name}: {side['ms_a_step']:.2f} ms a step (median), {side['memory'] / 2**20:.0f} MiB beyond the model")
    print(f"torch / ridge, block beside block: {record['speedup']:.2f}")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=SIZES, default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="bfloat16: by autocast")
    parser.add_argument("--compile", action="store_true", help="both models by torch.compile")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--block", type=int, default=10, help="steps of one side before the other's turn")
    parser.add_argument("--every", type=int, default=10, help="steps between the losses that are printed")
    parser.add_argument("--rate", type=float, default=1e-3, help="the optimizer's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write all losses and times to FILE")
    parser.add_argument("--memory-of", choices=PARTS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    o = options()
    if o.memory_of:
        print(memory_of_training(o.memory_of, o))
        return
    data = list(corpus.batches(SIZES[o.device], o.steps, o.seed, o.device))
    sides = {name: Side(name, o) for name in PARTS}
    train(list(sides.values()), data, o.block)
    record = {
        "machine": torch.cuda.get_device_name() if o.device == "cuda" else f"CPU, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "dtype": o.dtype,
        "compile": o.compile,
        "size": SIZES[o.device]._asdict(),
        "steps": o.steps,
        "largest_difference": max(abs(a - b) for a, b in zip(*[side.losses for side in sides.values()])),
        "sides": {
            name: {
                "losses": side.losses,
                "ms": side.times,
                "ms_a_step": statistics.median(side.times),
                "memory": memory_of_process(name),
            }
            for name, side in sides.items()
        },
    }
    record["speedup"] = speedup(record, o.block)
    show(record, o.every)
    if o.json:
        with open(o.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
