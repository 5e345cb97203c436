#!/usr/bin/env python3
"""The Python binding: answers, refusals, and what a context keeps of its calls. Speaks TAP.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/python/test_binding.py

The same tests run on a stand-in for PyTorch's tensors, which needs nothing but Python, and on PyTorch's own on the CPU and on
a GPU, where there are such; with NumPy, that arrays of others pass through DLPack.
"""
import ctypes
import math
import pathlib
import random
import sys
import threading
import time
import unittest
import weakref

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ridge  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


# ---- tensors --------------------------------------------------------------------------------------------------------
class Managed(ctypes.Structure):
    _fields_ = [("tensor", ridge._Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
in_capsules = {}  # what each holds, by address


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def end_of_capsule(capsule):
    del in_capsules[pointer_in(capsule, b"dltensor")]


CODES = {"float32": (2, 32, ctypes.c_float), "float64": (2, 64, ctypes.c_double), "int32": (0, 32, ctypes.c_int32)}


def by_rows(shape):
    strides, below = [], 1
    for extent in reversed(shape):
        strides.insert(0, below)
        below *= extent
    return tuple(strides)


class Tensor:
    """As much of a PyTorch tensor as the binding looks at."""

    exports, pause = 0, 0
    buried = []  # extents of dead tensors: memory that must not be looked at again

    def __init__(self, shape, strides, dtype, data=None, requires_grad=False, neg=False):
        self.shape, self.strides_, self.dtype, self.device = tuple(shape), tuple(strides), dtype, "cpu"
        room = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 1
        self.data = data if data is not None else (CODES[dtype][2] * room)()
        self.requires_grad, self.neg = requires_grad, neg
        self.extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *strides)

    def __del__(self):
        for i in range(len(self.extents)):
            self.extents[i] = -7
        Tensor.buried.append(self.extents)

    def stride(self):
        return self.strides_

    def data_ptr(self):
        time.sleep(self.pause)
        return ctypes.addressof(self.data)

    def is_neg(self):
        return self.neg

    def detach(self):
        return Tensor(self.shape, self.strides_, self.dtype, self.data) if self.requires_grad else self

    def new_empty(self, shape):
        return Tensor(shape, by_rows(shape), self.dtype)

    def __dlpack__(self):
        if self.requires_grad:
            raise BufferError("requires grad")
        Tensor.exports += 1
        code, bits, _ = CODES[self.dtype]
        half = ctypes.c_int64 * len(self.shape)
        shape, strides = half.from_buffer(self.extents), half.from_buffer(self.extents, ctypes.sizeof(half))
        tensor = ridge._Tensor(self.data_ptr(), (1, 0), len(self.shape), (code, bits, 1), shape, strides, 0)
        managed = Managed(tensor, None, None)
        in_capsules[ctypes.addressof(managed)] = managed, self
        return new_capsule(ctypes.addressof(managed), b"dltensor", ctypes.cast(end_of_capsule, ctypes.c_void_p))


class StandIn:
    @staticmethod
    def empty(shape, strides=None, dtype="float32", **how):
        return Tensor(shape, strides or by_rows(shape), dtype, **how)

    @staticmethod
    def at(tensor, index):
        return sum(i * s for i, s in zip(index, tensor.strides_))

    def fill(self, tensor, values):
        for index, value in values.items():
            tensor.data[self.at(tensor, index)] = value

    def read(self, tensor, index):
        return tensor.data[self.at(tensor, index)]


class Torch:
    def __init__(self, device):
        self.device = device

    def empty(self, shape, strides=None, dtype="float32", requires_grad=False):
        made = torch.empty_strided(shape, strides or by_rows(shape), dtype=getattr(torch, dtype), device=self.device)
        return made.requires_grad_(requires_grad)

    @staticmethod
    def fill(tensor, values):
        here = torch.empty(tensor.shape, dtype=tensor.dtype)
        for index, value in values.items():
            here[index] = value
        with torch.no_grad():
            tensor.copy_(here)

    @staticmethod
    def read(tensor, index):
        return tensor[index].item()


# ---- the tests, for each kind of tensor -----------------------------------------------------------------------------
def indices(shape):
    return [(i,) for i in range(shape[0])] if len(shape) == 1 else [(i, j) for i in range(shape[0]) for j in range(shape[1])]


class Calls:
    def setUp(self):
        self.context, self.random = ridge.Context(1), random.Random(3)

    def filled(self, shape, strides=None, **how):
        """A tensor, and its values."""
        tensor = self.kind.empty(shape, strides, **how)
        values = {index: self.random.uniform(-2, 2) for index in indices(shape)}
        self.kind.fill(tensor, values)
        return tensor, values

    def operands(self, rows, depth, classes, x_strides=None, w_strides=None, **how):
        shapes = [((rows, depth), x_strides), ((depth, classes), w_strides), ((classes,), None)]
        made = [self.filled(shape, strides, **how) for shape, strides in shapes]
        return [tensor for tensor, _ in made], self.logits(rows, depth, classes, *[values for _, values in made])

    @staticmethod
    def logits(rows, depth, classes, x, w, b):
        return [[b[j,] + sum(x[i, k] * w[k, j] for k in range(depth)) for j in range(classes)] for i in range(rows)]

    def check(self, y, logits, atol=5e-6):
        for i, row in enumerate(logits):
            total = sum(math.exp(z) for z in row)
            for j, z in enumerate(row):
                self.assertAlmostEqual(self.kind.read(y, (i, j)), math.exp(z) / total, delta=atol)

    def softmax(self, rows, depth, classes, *strides, **how):
        inputs, logits = self.operands(rows, depth, classes, *strides, **how)
        y = self.kind.empty((rows, classes))
        self.context.apply("linear_softmax", inputs, [y])
        self.check(y, logits)

    def test_other_addresses_are_taken(self):
        for _ in range(5):
            self.softmax(6, 9, 4)
        self.assertEqual(len(self.context._calls), 1)

    def test_other_shapes_and_strides_are_other_calls(self):
        shapes = [(6, 9, 4), (6, 9, 5), (1, 9, 4), (6, 1, 4), (6, 9, 1), (6, 9, 4)]
        strides = [(None, None), ((9 + 3, 1), None), (None, (4 + 2, 1)), (None, (1, 9)), (None, (1, 9 + 4)), (None, None)]
        for _ in range(2):
            for shape in shapes:
                self.softmax(*shape)
            for x_strides, w_strides in strides:
                self.softmax(6, 9, 4, x_strides, w_strides)
        self.assertEqual(len(self.context._calls), 5 + 4)

    def test_tensors_that_require_gradients(self):
        for _ in range(3):
            self.softmax(5, 8, 3, requires_grad=True)
            self.softmax(5, 8, 3)

    def test_options_are_part_of_a_call(self):
        (x, _), (w, _), (b, _) = self.filled((1, 3)), self.filled((4, 3)), self.filled((4,))
        labels, loss, lse = self.kind.empty((1,), dtype="int32"), self.kind.empty((1,)), self.kind.empty((1,))
        self.kind.fill(labels, {(0,): 2})
        z = [self.kind.read(b, (j,)) + sum(self.kind.read(x, (0, k)) * self.kind.read(w, (j, k)) for k in range(3)) for j in range(4)]
        top = math.log(sum(math.exp(v) for v in z))
        for s in (0.0, 0.25, 0.0, 0.5):
            self.context.apply("linear_cross_entropy", [x, w, b, labels], [loss, lse], options=[-100, s, 0, 0])
            self.assertAlmostEqual(self.kind.read(loss, (0,)), top - (1 - s) * z[2] - s * sum(z) / 4, delta=1e-5)
        self.assertEqual(len(self.context._calls), 3)

    def test_refusals_say_why_and_are_not_kept(self):
        self.softmax(6, 9, 4)
        (x, w, b), _ = self.operands(6, 9, 4)
        y, empty = self.kind.empty((6, 4)), self.kind.empty
        for said, inputs, outputs, how in [
            ("depth is 8 in w and 9 elsewhere", [x, empty((8, 4)), b], [y], {}),
            ("classes is 5 in p and 4 elsewhere", [x, w, b], [empty((6, 5))], {}),
            ("w is of type f32, not f64", [empty((6, 9), dtype="float64"), w, b], [y], {}),
            ("x is not row-major", [empty((6, 9), (1, 6)), w, b], [y], {}),
            ("w has 1 dimensions, not 2", [x, b, b], [y], {}),
            ("takes 3 inputs and 1 outputs", [x, w], [y], {}),
            ("has no variant 'cpu/none'", [x, w, b], [y], {"variant": "cpu/none"}),
        ]:
            for _ in range(2):
                with self.assertRaisesRegex(ridge.Error, said):
                    self.context.apply("linear_softmax", inputs, outputs, **how)
        with self.assertRaisesRegex(ridge.Error, "no target 'none'"):
            self.context.apply("none", [x, w, b], [y])
        self.assertEqual(len(self.context._calls), 1)
        self.softmax(6, 9, 4)

    def test_only_so_many_calls_are_kept(self):
        most = ridge._MOST_CALLS
        for rows in range(1, most + 20):
            self.softmax(rows, 2, 2)
            self.assertLessEqual(len(self.context._calls), most)
        self.assertEqual(len(self.context._calls), most)
        self.softmax(1, 2, 2)

    def test_a_kept_call_keeps_no_tensor(self):
        (x, w, b), _ = self.operands(6, 9, 4)
        y = self.kind.empty((6, 4))
        watched = [weakref.ref(t) for t in (x, w, b, y)]
        self.context.apply("linear_softmax", [x, w, b], [y])
        del x, w, b, y
        self.assertEqual([ref() for ref in watched], [None] * 4)
        self.softmax(6, 9, 4)

    def test_named_operation(self):
        (x, w, b), logits = self.operands(6, 9, 4)
        self.check(ridge.linear_softmax(x, w, b), logits)


class StandInCalls(Calls, unittest.TestCase):
    kind = StandIn()

    def test_a_kept_call_exports_nothing(self):
        self.softmax(6, 9, 4)
        before = Tensor.exports
        self.softmax(6, 9, 4)
        self.assertEqual(Tensor.exports, before)

    def test_threads_take_turns(self):
        cases = [self.operands(6, 9, 4) for _ in range(4)]
        outputs = [self.kind.empty((6, 4)) for _ in cases]
        self.softmax(6, 9, 4)
        for y in outputs:
            y.pause = 0.02  # after the inputs' addresses were taken, all others come to take theirs
        threads = [threading.Thread(target=self.context.apply, args=("linear_softmax", c[0], [y])) for c, y in zip(cases, outputs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for (_, logits), y in zip(cases, outputs):
            self.check(y, logits)

    def test_no_capsule_is_left(self):
        self.softmax(6, 9, 4)
        with self.assertRaises(ridge.Error):
            self.context.apply("linear_softmax", [self.kind.empty((6, 9))] * 3, [self.kind.empty((6, 4))])
        self.assertEqual(in_capsules, {})

    def test_negative_bit_is_refused(self):
        self.softmax(6, 9, 4)
        for _ in range(2):
            with self.assertRaisesRegex(BufferError, "negative bit"):
                self.softmax(6, 9, 4, neg=True)


class TorchCalls(Calls):
    def setUp(self):
        super().setUp()
        self.x, self.w, self.b = (self.kind.empty(shape).fill_(0.5) for shape in [(6, 9), (9, 4), (4,)])
        self.y = self.kind.empty((6, 4))

    def refused(self, error, x):
        self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])  # what the kept call must not let through
        with self.assertRaises(error):
            self.context.apply("linear_softmax", [x, self.w, self.b], [self.y])

    def test_what_is_no_plain_memory_is_refused(self):
        device = self.kind.device
        conjugate = torch.zeros(6, 9, dtype=torch.complex64, device=device).conj()
        negative = torch._neg_view(self.x)
        self.assertTrue(conjugate.is_conj() and negative.is_neg() and negative.stride() == self.x.stride())
        for x in [conjugate, negative, self.x.to_sparse()]:
            self.refused(BufferError, x)
        self.refused((BufferError, RuntimeError), torch.empty(6, 9, device="meta"))
        self.refused(ridge.Error, self.x.expand(2, 6, 9)[0].bool())

    def test_parameters_and_subclasses(self):
        class Own(torch.Tensor):
            pass

        x, values = self.filled((6, 9))
        w, w_values = self.filled((9, 4))
        b, b_values = self.filled((4,))
        logits = self.logits(6, 9, 4, values, w_values, b_values)
        for made in (torch.nn.Parameter, lambda t: t.as_subclass(Own), lambda t: t):
            for _ in range(2):
                self.check(ridge.linear_softmax(made(x), made(w), b), logits)

    def test_views_begin_where_they_begin(self):
        whole, _ = self.filled((8, 20))
        w, b = self.w.uniform_(-1, 1), self.b.uniform_(-1, 1)
        for first in (0, 1, 2):
            x = whole[first : first + 6, 3 + first : 12 + first]
            y = ridge.linear_softmax(x, w, b)
            self.assertLess(float((y - torch.softmax(torch.addmm(b.double(), x.double(), w.double()), 1)).abs().max()), 5e-6)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TorchCpuCalls(TorchCalls, unittest.TestCase):
    kind = Torch("cpu")


@unittest.skipIf(torch is None or not torch.cuda.is_available(), "PyTorch or a GPU is missing")
class TorchCudaCalls(TorchCalls, unittest.TestCase):
    kind = Torch("cuda")

    def test_tensors_of_two_devices_are_refused(self):
        for _ in range(2):
            self.refused(ridge.Error, self.x.cpu())

    def test_the_current_stream_is_taken(self):
        self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])  # scratch memory cannot be made in a graph
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # work on any other stream would end the capture
            self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])
        self.w.uniform_(-1, 1)
        self.y.zero_()
        graph.replay()
        wanted = torch.softmax(torch.addmm(self.b.double(), self.x.double(), self.w.double()), 1)
        self.assertLess(float((self.y - wanted).abs().max()), 5e-6)


@unittest.skipIf(numpy is None, "NumPy is not installed")
class NumpyCalls(unittest.TestCase):
    def test_arrays_pass_through_dlpack(self):
        random_ = numpy.random.default_rng(1)
        context = ridge.Context(1)
        for _ in range(3):
            x, w, b = (random_.standard_normal(shape).astype("f") for shape in [(6, 9), (9, 4), (4,)])
            e = numpy.exp(x.astype("d") @ w + b)
            y = numpy.empty((6, 4), "f")
            context.apply("linear_softmax", [x, w, b], [y])
            self.assertLess(abs(y - e / e.sum(1, keepdims=True)).max(), 5e-6)
            self.assertLess(abs(ridge.linear_softmax(x, numpy.asfortranarray(w), b) - y).max(), 5e-6)
        self.assertEqual(len(context._calls), 0)


# ---- TAP ------------------------------------------------------------------------------------------------------------
class Tap(unittest.TestResult):
    def say(self, test, word="ok", note=""):
        print(f"{word} {self.testsRun} - {test.id().removeprefix('__main__.')}{note}", flush=True)

    def addSuccess(self, test):
        self.say(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"ok {self.testsRun} - {type(test).__name__} # SKIP {reason}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        print(self.failures[-1][1])
        self.say(test, "not ok")

    def addError(self, test, error):
        super().addError(test, error)
        print(self.errors[-1][1])
        self.say(test, "not ok")


def all_tests():
    tests = unittest.TestSuite()
    for case in (StandInCalls, TorchCpuCalls, TorchCudaCalls, NumpyCalls):
        found = list(unittest.defaultTestLoader.loadTestsFromTestCase(case))
        tests.addTests(found[:1] if getattr(case, "__unittest_skip__", False) else found)  # what is missing is said once
    return tests


if __name__ == "__main__":
    tests = all_tests()
    print(f"1..{tests.countTestCases()}")
    sys.exit(not tests.run(Tap()).wasSuccessful())
