"""A table of peers for tests, which needs nothing but Python: a right one, a wrong one, one that raises, one that hangs and one
whose making does not end."""

import math
import time

from ridge_peers.case import Refused
from ridge_peers.table import Peer


def normalize(case):
    def run(ins, outs):
        (x,), (y,) = ins, outs
        for line, to in zip(x, y):
            norm = max(math.sqrt(sum(v * v for v in line)), 1e-12)
            to[:] = [v / norm for v in line]

    return run


def last_element_off(case):
    right = normalize(case)

    def run(ins, outs):
        right(ins, outs)
        outs[0][-1][-1] *= 1.001

    return run


def raises(case):
    def run(ins, outs):
        raise ValueError("no such luck")

    return run


def hangs(case):
    def run(ins, outs):
        while True:
            pass

    return run


def compiles_for_ever(case):
    while True:
        time.sleep(1)


def fails_to_start(case):
    return 1 // 0


def refuses(case):
    raise Refused("only on Sundays")


def peer(target, kind, make, **more):
    return Peer(target, kind, make, "of a test", ("cpu",), plain=True, **more)


PEERS = [
    peer("fused_l2norm", "eager", normalize),
    peer("fused_l2norm", "compile", last_element_off),
    peer("fused_l2norm", "triton", raises),
    peer("fused_l2norm", "liger", hangs),
    peer("online_softmax", "eager", refuses),
    peer("online_softmax", "compile", fails_to_start),
    peer("online_softmax", "triton", refuses, missing="not in this test"),
    peer("online_softmax", "liger", compiles_for_ever),
]
