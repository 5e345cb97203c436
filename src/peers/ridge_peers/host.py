"""The other side of src/measure/python.c: what the measuring worker calls.

    start(program, table)         loads the table of peers
    prepare(json)                 makes a peer for a case; its number, -1: it does not take the case, -2: it raised
    bind(number, ins, outs, stream)  views of a call's tensors: a function that runs the peer on them; None: it raised
    release(number)
    why()                         one line: what the last call that failed says
"""

import importlib.util
import json
import logging
import os
import sys
import warnings

from ridge_peers.case import Case, Refused
from ridge_peers.dltensor import array_at, rows_of

_peers, _plans, _why, _stream = {}, {}, "", None


def _line(error):
    text = " ".join(str(error).split()) or "no reason given"
    return text if isinstance(error, Refused) else f"{type(error).__name__}: {text}"


def load_table(path):
    """{(target, variant): peer} of the table in a file."""
    spec = importlib.util.spec_from_file_location("ridge_peers_table", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {(peer.target, name): peer for peer in module.PEERS for name in peer.names}


def start(program, table):
    """torch.compile makes one kernel at a time: processes of its own would outlive the worker."""
    sys.executable = program
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    _peers.update(load_table(table))


def _settings(case, torch):
    """Products of fp32 stay fp32; those of 16 bits are summed in fp32. tf32 is a case of its own."""
    torch.set_num_threads(case.threads)
    torch.set_grad_enabled(False)
    if case.device == "cuda":
        if not torch.cuda.is_available():
            raise Refused("this PyTorch has no CUDA, or no GPU")
        torch.cuda.init()
        torch.backends.cuda.matmul.allow_tf32 = case.dtype == "tf32"
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def _rehearse(run, case):
    """Once on operands of its own: compilers run now, and threads start before the worker is pinned to a processor."""
    import torch
    from ridge_peers.operands import TYPES

    def zeros(spec):
        return torch.zeros(spec.shape, dtype=TYPES[spec.dtype], device=case.device) if spec.given else None

    run([zeros(spec) for spec in case.ins], [zeros(spec) for spec in case.outs])
    if case.device == "cuda":
        torch.cuda.synchronize()


def _make(case):
    peer = _peers[case.target, case.name]
    if peer.plain:
        return peer.make(case)
    import torch

    _settings(case, torch)
    run = peer.make(case)
    _rehearse(run, case)
    return run


def prepare(text):
    global _why
    try:
        case = Case.of(json.loads(text))
        number = len(_plans)
        _plans[number] = (_make(case), case)
        return number
    except Refused as error:
        _why = _line(error)
        return -1
    except BaseException as error:  # noqa: BLE001, a library may raise anything
        _why = _line(error)
        return -2


def release(number):
    _plans[number] = None


def _on_stream(handle):
    """PyTorch launches on the stream that the worker times."""
    global _stream
    import torch

    if _stream != handle:
        torch.cuda.set_stream(torch.cuda.ExternalStream(handle))
        _stream = handle


def _views(case, address, specs):
    if _peers[case.target, case.name].plain:
        return [rows_of(lies) for lies in array_at(address, len(specs))]
    from ridge_peers.operands import views

    return views(address, specs)


def bind(number, ins, outs, stream):
    global _why
    try:
        run, case = _plans[number]
        if case.device == "cuda":
            _on_stream(stream)
        inputs, outputs = _views(case, ins, case.ins), _views(case, outs, case.outs)
    except BaseException as error:  # noqa: BLE001
        _why = _line(error)
        return None

    def bound():
        try:
            run(inputs, outputs)
        except BaseException as error:  # noqa: BLE001
            return _line(error)

    return bound


def why():
    return _why
