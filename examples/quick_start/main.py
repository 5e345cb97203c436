"""Softmax regression in one call a step, as main.c: linear_cross_entropy_grad gives each row's loss and all gradients.

    PYTHONPATH=python python3 examples/quick_start/main.py

Exits with 0 if the first mean loss agrees with NumPy's and the loss has halved after all steps, with 77 without NumPy.
"""
import sys

import ridge

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

BATCH, DEPTH, CLASSES, STEPS, RATE = 256, 32, 10, 50, 4


def uniform(random, *shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def main():
    random = np.random.default_rng(1)
    x = uniform(random, BATCH, DEPTH)
    labels = (x @ uniform(random, CLASSES, DEPTH).T).argmax(axis=1)  # of a hidden linear classifier
    w, b = uniform(random, CLASSES, DEPTH) / 10, np.zeros(CLASSES, np.float32)
    share = np.full(BATCH, 1 / BATCH, np.float32)  # of each row in the mean

    z = x @ w.T + b
    plain = (np.log(np.exp(z).sum(axis=1)) - z[np.arange(BATCH), labels]).mean()

    losses = []
    for _ in range(STEPS):
        loss, _, _, dw, db = ridge.linear_cross_entropy_grad(x, w, b, labels, share)
        losses.append(loss.mean())
        w -= RATE * dw
        b -= RATE * db
    print(f"mean loss {losses[0]:.6f} (NumPy: {plain:.6f}), after {STEPS} steps {losses[-1]:.6f}")
    return 0 if abs(losses[0] - plain) < 1e-5 and losses[-1] < losses[0] / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
