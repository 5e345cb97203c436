"""out= of every operation: arrays given are written and returned, and what cannot be written is refused."""
import functools
import random
import unittest

import ridge
from tensors import Exporter, Numpy, StandIn, Torch, numpy, torch

NAMES = sorted(set(ridge.__all__) - {"apply", "targets", "Context", "Error"})


class Samples:
    """Arguments of every operation, as small as it takes them, by its name. Methods are called as operations are."""

    def __init__(self, kind):
        self.kind, self.random = kind, random.Random(7)
        on_gpu = str(getattr(kind, "device", "cpu")).startswith("cuda")
        self.narrow = {"dtype": "bfloat16" if on_gpu else "float32"}  # a GPU makes some products in 16 bits alone

    def of(self, name):
        return getattr(self, name)()

    def real(self, *shape, dtype="float32"):
        return self.filled(shape, dtype, lambda: self.random.uniform(-2, 2))

    def ones(self, *shape):
        return self.filled(shape, "float32", lambda: 1.0)

    def filled(self, shape, dtype, value):
        made = self.kind.empty(shape, dtype=dtype)
        self.kind.fill(made, {index: value() for index in indices(shape)})
        return made

    def integers(self, values, dtype="int32", shape=None):
        left = iter(values)
        return self.filled(shape or (len(values),), dtype, lambda: next(left))

    # ---- rows
    def rms_norm(self):
        return self.real(2, 3, 12), self.real(12)

    def layer_norm(self):
        return self.real(2, 3, 12), self.real(12), self.real(12)

    def add_rms_norm(self):
        return self.real(5, 12), self.real(5, 12), self.real(12)

    def add_layer_norm(self):
        return self.real(5, 12), self.real(5, 12), self.real(12), self.real(12)

    def scaled_softmax(self):
        return (self.real(5, 12),)

    def masked_softmax(self):
        return self.real(5, 12), self.real(5, 12)

    # ---- quantizers, and what they make
    def quantize_fp8_blocks(self):
        return (self.real(3, 256),)

    def quantize_nvfp4(self):
        return self.real(3, 64), self.ones(1)

    def quantize_mxfp8(self):
        return (self.real(3, 64),)

    quantize_mxfp4 = quantize_mxfp8

    def prune_2_4(self):
        return (self.real(3, 64, **self.narrow),)

    def fp8_gemm(self):
        return *ridge.quantize_fp8_blocks(self.real(3, 256)), *ridge.quantize_fp8_blocks(self.real(5, 256))

    def int8_gemm(self):
        a, b = (self.integers([3 * i - 8 for i in range(6 * n)], "int8", (n, 6)) for n in (3, 5))
        return a, self.ones(3), b, self.ones(5)

    def fp8_ffn(self):
        (x, scales), (w1, _), (w2, _) = (ridge.quantize_fp8_blocks(self.real(*s)) for s in ((2, 256), (256, 256), (256, 128)))
        return x, scales, w1, self.ones(2, 2), w2, self.ones(2, 1)

    def fp8_structured_sparsity(self):
        values, codes = ridge.prune_2_4(self.real(3, 256, **self.narrow))
        (a, _), (b, _) = map(ridge.quantize_fp8_blocks, (values, self.real(5, 256)))
        return a, codes, self.ones(1), b, self.ones(1)

    def nvfp4_gemm(self):
        return self.real(3, 64, **self.narrow), *ridge.quantize_nvfp4(self.real(5, 64), self.ones(1)), self.ones(1)

    def nvfp4_scaled_gemm(self):
        return [x for rows in (3, 5) for x in (*ridge.quantize_nvfp4(self.real(rows, 64), self.ones(1)), self.ones(1))]

    def structured_sparsity(self):
        return *ridge.prune_2_4(self.real(3, 64, **self.narrow)), self.real(5, 64, **self.narrow)

    def structured_sparsity_ffn(self):
        w1, w2 = self.real(64, 32, **self.narrow), self.real(32, 32, **self.narrow)
        return self.real(3, 32, **self.narrow), *ridge.prune_2_4(w1), *ridge.prune_2_4(w2)

    # ---- products
    def gemm(self):
        return self.real(4, 5), self.real(5, 6)

    gemm_epilogue = gemm

    def batched_gemm(self):
        return self.real(2, 4, 5), self.real(2, 5, 6)

    def grouped_gemm(self):
        return self.real(6, 4), self.real(2, 4, 3), self.integers([2, 6])

    def swiglu_ffn(self):
        return tuple(self.real(*shape, **self.narrow) for shape in ((3, 32), (64, 32), (32, 32)))

    def swiglu_ffn_backward(self):
        return *self.swiglu_ffn(), self.real(3, 64, **self.narrow), self.real(3, 32, **self.narrow)

    def rms_norm_backward(self):
        return self.real(3, 7), self.real(7), self.real(3, 7)

    def layer_norm_backward(self):
        return *self.rms_norm_backward(), self.real(3, 7)

    def l2_norm(self):
        return (self.real(3, 7),)

    def l2_norm_backward(self):
        return self.real(3, 7), self.real(3, 7)

    def softmax_backward(self):
        return self.real(3, 7), self.real(3, 7)

    # ---- linear layers
    def linear_softmax(self):
        return self.real(6, 9), self.real(9, 4), self.real(4)

    def linear_norm_activation(self):
        return self.real(3, 4), self.real(4, 16), self.real(16), self.real(16), self.real(16)

    def linear_cross_entropy(self):
        return self.real(6, 9), self.real(4, 9), self.real(4), self.integers([0, 1, 2, 3, -100, 1])

    def linear_cross_entropy_backward(self):
        operands = self.linear_cross_entropy()
        return *operands, ridge.linear_cross_entropy(*operands)[1], self.ones(6)

    def linear_cross_entropy_grad(self):
        return *self.linear_cross_entropy(), self.ones(6)

    # ---- attention
    def attention(self):
        return self.real(1, 2, 5, 8, **self.narrow), self.real(1, 2, 7, 8, **self.narrow), self.real(1, 2, 7, 8, **self.narrow)

    def attention_backward(self):
        operands = self.attention()
        out, lse = ridge.attention(*operands)
        return *operands, out, lse, self.real(1, 2, 5, 8, **self.narrow)

    def attention_varlen(self):
        ends = self.integers([2, 5]), self.integers([3, 7])
        return *(self.real(rows, 2, 8, **self.narrow) for rows in (5, 7, 7)), *ends

    def attention_paged(self):
        pool = [self.real(3, 4, 2, 8, **self.narrow) for _ in "kv"]
        table = self.integers([0, 2, 1, 0], shape=(2, 2))
        return self.real(2, 2, 3, 8, **self.narrow), *pool, table, self.integers([7, 4])

    def fp8_attention(self):
        codes = [ridge.quantize_fp8_blocks(self.real(1, 2, rows, 128))[0] for rows in (5, 7, 7)]
        return *codes, *(self.ones(1, 2) for _ in codes)


def indices(shape):
    return [()] if not shape else [(i, *rest) for i in range(shape[0]) for rest in indices(shape[1:])]


def as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def dtype_of(array):
    return str(array.dtype).rpartition(".")[2]


def of_each_operation(test):
    """test(self, operation, arguments, what it returns, arrays for out), of all operations."""

    @functools.wraps(test)
    def of_all(self):
        for name in NAMES:
            with self.subTest(name):
                operation, arguments = getattr(ridge, name), self.samples.of(name)
                outputs = as_tuple(operation(*arguments))
                test(self, operation, arguments, outputs, self.given_for(outputs))

    return of_all


class Outputs:
    def setUp(self):
        self.samples = Samples(self.kind)

    def given_for(self, outputs):
        """Arrays like those of `outputs`, with other values; None stays."""
        made = [o if o is None else self.kind.empty(tuple(o.shape), dtype=dtype_of(o)) for o in outputs]
        for array in made:
            if array is not None:
                self.kind.fill(array, {index: 3 for index in indices(array.shape)})
        return made

    def refused(self, said, operation, arguments, out, **more):
        with self.assertRaisesRegex(ridge.Error, said) as caught:
            operation(*arguments, out=out, **more)
        self.assertNotIn("\n", str(caught.exception))

    @staticmethod
    def passed(arrays):
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    @of_each_operation
    def test_given_arrays_are_written_and_returned(self, operation, arguments, outputs, given):
        for _ in range(2):  # the second call is the first one, kept
            got = operation(*arguments, out=self.passed(given))
            self.assertIs(type(got), tuple if len(given) > 1 else type(given[0]))
            for mine, theirs, new in zip(given, as_tuple(got), outputs):
                self.assertIs(theirs, mine)
                self.same_values(mine, new)

    def same_values(self, array, other):
        if array is None:
            return
        read = self.kind.read_byte if dtype_of(array).startswith("float8") else self.kind.read
        for index in indices(tuple(array.shape)):
            a, b = read(array, index), read(other, index)
            self.assertTrue(abs(a - b) <= 1e-5 * max(1, abs(b)) or a == b or (a != a and b != b), (index, a, b))

    @of_each_operation
    def test_outputs_of_none_are_made(self, operation, arguments, outputs, given):
        for i, mine in enumerate(given if len(given) > 1 else []):
            got = operation(*arguments, out=[mine if j == i else None for j in range(len(given))])
            self.assertIs(got[i], mine)
            for made, new in zip(got, outputs):
                self.same_values(made, new)

    @of_each_operation
    def test_another_shape_is_refused(self, operation, arguments, outputs, given):
        for i, mine in enumerate(given):
            if mine is not None:
                wrong = [*given[:i], self.kind.empty((1, *mine.shape), dtype=dtype_of(mine)), *given[i + 1 :]]
                place = rf"out\[{i}\]" if len(given) > 1 else "out"
                self.refused(rf": {place} has shape \(1, .*\), not \(", operation, arguments, self.passed(wrong))

    @of_each_operation
    def test_another_number_is_refused(self, operation, arguments, outputs, given):
        if len(given) == 1:
            for kind in (tuple, list):
                self.refused(f": out is of type {kind.__name__}, not an array", operation, arguments, kind(given))
            return
        self.refused(f": out is of type .*, not a tuple of {len(given)} arrays", operation, arguments, given[0])
        for wrong in ((), given[1:], [*given, given[0]]):
            self.refused(f": out has {len(wrong)} arrays, not {len(given)}", operation, arguments, wrong)
        self.refused(r": out\[1\] is of type int, not an array", operation, arguments, [given[0], 3, *given[2:]])

    @of_each_operation
    def test_another_type_is_refused(self, operation, arguments, outputs, given):
        for i, mine in enumerate(given):
            if mine is not None:
                wrong = [*given[:i], self.kind.empty(tuple(mine.shape), dtype="float64"), *given[i + 1 :]]
                self.refused("f64", operation, arguments, self.passed(wrong))

    def test_a_type_that_was_not_asked_for_is_refused(self):
        a, b = self.samples.gemm()
        wrong = self.kind.empty((4, 6), dtype="float64")
        self.refused("gemm: out has type .*float64, and dtype is .*float32", ridge.gemm, (a, b), wrong, dtype=a.dtype)

    def test_inputs_are_refused_but_where_rows_go_in_place(self):
        a = self.samples.real(4, 4)
        self.refused("gemm: c is a itself", ridge.gemm, (a, a), a)
        x = self.samples.real(5, 12)
        want = ridge.scaled_softmax(x)
        self.assertIs(ridge.scaled_softmax(x, out=x), x)
        self.same_values(x, want)

    def test_the_gradient_of_sinks(self):
        """Made with a sink alone; without one, memory for it gets zeros."""
        arguments, sink = self.samples.attention_backward(), self.samples.real(2)
        outputs = ridge.attention_backward(*arguments, sink=sink)
        given = self.given_for(outputs)
        for mine, theirs, new in zip(given, ridge.attention_backward(*arguments, sink=sink, out=given), outputs):
            self.assertIs(theirs, mine)
            self.same_values(mine, new)
        self.assertIsNone(ridge.attention_backward(*arguments, out=given)[3])
        self.assertEqual([self.kind.read(given[3], (head,)) for head in range(2)], [0, 0])

    @of_each_operation
    def test_the_same_array_twice_is_refused(self, operation, arguments, outputs, given):
        if len(given) > 1 and tuple(given[0].shape) == tuple(given[1].shape) and given[0].dtype == given[1].dtype:
            self.refused("overlaps", operation, arguments, [given[0], given[0], *given[2:]])


class OnStandIns(Outputs, unittest.TestCase):
    kind = StandIn()

    def test_every_operation_has_a_sample(self):
        methods = {name for name in vars(Samples) if not name.startswith("_")}
        self.assertEqual(methods - {"of", "real", "ones", "filled", "integers"}, set(NAMES))


@unittest.skipIf(numpy is None, "NumPy is not installed")
class OnNumpy(Outputs, unittest.TestCase):
    kind = Numpy()

    @of_each_operation
    def test_read_only_arrays_are_refused(self, operation, arguments, outputs, given):
        for i, mine in enumerate(given):
            if mine is not None:
                mine.flags.writeable = False
                self.refused(rf"outputs\[{i}\] \(ndarray\) is read-only", operation, arguments, self.passed(given))
                mine.flags.writeable = True

    def test_views_and_subclasses(self):
        class Own(numpy.ndarray):
            pass

        x, gamma = self.samples.real(5, 12), self.samples.real(12)
        room = numpy.full((5, 20), 3, "f")
        for out in (room[:, 3:15], room[:, 3:15].view(Own)):
            self.assertIs(ridge.rms_norm(x, gamma, out=out), out)
            self.same_values(out, ridge.rms_norm(x, gamma))
            self.assertEqual((room[:, :3].tolist(), room[:, 15:].tolist()), ([[3] * 3] * 5, [[3] * 5] * 5))

    def test_arrays_for_inputs_whose_library_makes_none(self):
        x, gamma, y = Exporter((5, 12)), Exporter((12,)), self.kind.empty((5, 12))
        with self.assertRaisesRegex(ridge.Error, "outputs of type Exporter cannot be made here: pass your own as out="):
            ridge.rms_norm(x, gamma)
        self.assertIs(ridge.rms_norm(x, gamma, out=y), y)
        self.assertEqual(y.tolist(), [[0] * 12] * 5)
        with self.assertRaisesRegex(ridge.Error, "array of type Exporter has no views"):
            ridge.attention(*(self.samples.real(1, 2, 5, 8) for _ in "qkv"), out=(Exporter((1, 2, 5, 8)), None))


class OnTorch(Outputs):
    @of_each_operation
    def test_outputs_that_require_grad_are_refused_where_autograd_records(self, operation, arguments, outputs, given):
        if given[0].is_floating_point() and given[0].itemsize > 1:
            given[0].requires_grad_()
            self.refused("requires grad.*no_grad", operation, arguments, self.passed(given))
            with torch.no_grad():
                operation(*arguments, out=self.passed(given))

    @of_each_operation
    def test_another_device_is_refused(self, operation, arguments, outputs, given):
        elsewhere = [o if o is None else torch.empty_like(o, device="meta") for o in given]
        self.refused(r"outputs\[0\] is on device 'meta'", operation, arguments, self.passed(elsewhere))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class OnTorchCpu(OnTorch, unittest.TestCase):
    kind = Torch("cpu")


@unittest.skipIf(torch is None or not torch.cuda.is_available(), "PyTorch or a GPU is missing")
class OnTorchCuda(OnTorch, unittest.TestCase):
    kind = Torch("cuda:0")

    def test_the_type_of_a_result_is_out_s(self):
        a, b = self.samples.real(4, 8, dtype="bfloat16"), self.samples.real(8, 6, dtype="bfloat16")
        out = torch.empty(4, 6, device=self.kind.device)
        self.assertIs(ridge.gemm(a, b, out=out), out)
        torch.testing.assert_close(out, a.float() @ b.float())

    def test_arrays_of_the_cpu_are_refused(self):
        x, gamma = self.samples.rms_norm()
        self.refused("another device", ridge.rms_norm, (x, gamma), torch.empty(2, 3, 12))


del Outputs, OnTorch  # no cases of their own
