"""Arrays that pass through DLPack: which form is asked for, what flags say, that every export is given back once."""
import ctypes
import random
import unittest
from unittest import mock

import ridge
import tensors
from ridge import _tensors
from tensors import Exporter, StandIn, jax, numpy, torch

CUDA = (2, 1)  # the second GPU


class Exports(unittest.TestCase):
    """On the stand-in for arrays."""

    def setUp(self):
        self.context, self.random = ridge.Context(1), random.Random(3)
        tensors.deletions.clear()
        self.addCleanup(self.assertEqual, tensors.exported, {})

    def rows(self, *shape, **how):
        array = Exporter(shape, **how)
        array.data[:] = [self.random.uniform(-2, 2) for _ in array.data]
        return array

    def softmax(self, x, y):
        self.context.apply("online_softmax", [x], [y])
        reference = StandIn.empty(x.shape)
        self.context.apply("online_softmax", [StandIn.empty(x.shape, data=x.data)], [reference])
        self.assertEqual(list(y.data), list(reference.data))

    def refused(self, said, inputs, outputs):
        before = [bytes(array.data) for array in outputs]
        with self.assertRaisesRegex(ridge.Error, said):
            self.context.apply("online_softmax", inputs, outputs)
        self.assertEqual([bytes(array.data) for array in outputs], before)

    def test_every_export_is_deleted_once(self):
        for speaks in ((1, 0), (1, 3), (0, 8)):
            tensors.deletions.clear()
            x, y = self.rows(3, 5, speaks=speaks), self.rows(3, 5, speaks=speaks)
            for _ in range(3):
                self.softmax(x, y)
            self.assertEqual(sum(tensors.deletions.values()), 6)
            self.assertEqual(tensors.exported, {})
            self.refused("cols is 4 in", [x], [self.rows(3, 4, speaks=speaks)])
            self.refused("inputs.1. is of type list", [x, []], [y])
            self.assertEqual(sum(tensors.deletions.values()), 9)
            self.assertEqual(tensors.exported, {})

    def test_the_form_that_the_producer_knows_is_taken(self):
        x, y = self.rows(3, 5, speaks=(0, 8)), self.rows(3, 5)
        self.softmax(x, y)
        self.assertEqual((x.asked, y.asked), ([{"max_version": (1, 0)}, {}], [{"max_version": (1, 0)}]))

    def test_another_major_version_is_refused(self):
        self.refused("inputs.0. is exported by DLPack 2.1", [self.rows(3, 5, speaks=(2, 1))], [self.rows(3, 5)])

    def test_read_only_arrays_are_inputs_only(self):
        x, y = self.rows(3, 5, flags=1), self.rows(3, 5)
        self.softmax(x, y)
        self.refused("online_softmax: outputs.0. .Exporter. is read-only", [y], [x])

    def test_copies_are_inputs_only(self):
        x, y = self.rows(3, 5, flags=2), self.rows(3, 5)
        self.softmax(x, y)
        self.refused("outputs.0. .*copy", [y], [x])

    def test_other_signs_of_immutability(self):
        class Flagged(Exporter):
            flags = type("Flags", (), {"writeable": False})

        class Array(Exporter):
            pass

        for speaks in ((1, 0), (0, 8)):
            x, y = Flagged((3, 5), speaks=speaks), self.rows(3, 5)
            self.softmax(x, y)
            self.refused("outputs.0. .*read-only", [y], [x])
            x = Array((3, 5), speaks=speaks)
            with mock.patch.dict("sys.modules", jax=type("Module", (), {"Array": Array})):
                self.softmax(x, y)
                self.refused("outputs.0. .*immutable", [y], [x])

    def test_strides_of_no_elements_mean_nothing(self):
        for shape in [(0, 5), (0, 1)]:
            x, y = (Exporter(shape, strides=(0, 0)) for _ in range(2))
            self.context.apply("online_softmax", [x], [y])

    def test_the_stream_is_passed_for_gpus_alone(self):
        for given, asked in [(None, 1), (0, 1), (0x70, 0x70)]:
            array = Exporter((3, 5), device=CUDA)
            described = _tensors.describe(array, given)
            self.assertEqual(array.asked, [{"max_version": (1, 0), "stream": asked}])
            self.assertEqual((described.tensor.device.type, described.tensor.device.id), CUDA)
        array = Exporter((3, 5))
        _tensors.describe(array, 0x70)
        self.assertEqual(array.asked, [{"max_version": (1, 0)}])

    def test_the_stream_that_is_passed_is_the_call_s(self):
        array = Exporter((3, 5), device=CUDA)
        with self.assertRaisesRegex(ridge.Error, "outputs.0. is of type list"):  # so that nothing runs on the GPU
            self.context.apply("online_softmax", [array], [[]], stream=0x70)
        self.assertEqual(array.asked[0]["stream"], 0x70)

    def test_capsules_that_were_used_are_refused(self):
        class Used(Exporter):
            def __dlpack__(self, **how):
                capsule = super().__dlpack__(**how)
                set_name(capsule, b"used_dltensor_versioned")
                tensors.deleter(next(iter(tensors.exported)))
                return capsule

        set_name = ctypes.pythonapi.PyCapsule_SetName
        set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.refused("inputs.0. .*used before", [Used((3, 5))], [])

    def test_tensors_and_arrays_in_one_call(self):
        x, y = self.rows(3, 5), StandIn.empty((3, 5))
        self.softmax(x, y)
        self.assertEqual(len(self.context._calls), 1)  # of the stand-ins for tensors alone
        x.data[:] = [2 * value for value in x.data]
        self.softmax(x, y)


@unittest.skipIf(numpy is None, "NumPy is not installed")
class NumpyCalls(unittest.TestCase):
    def setUp(self):
        self.context, self.random = ridge.Context(1), numpy.random.default_rng(1)

    def softmax(self, x, y):
        self.context.apply("online_softmax", [x], [y])
        e = numpy.exp(x.astype("d"))
        self.assertLess(abs(y - e / e.sum(-1, keepdims=True)).max(initial=0), 5e-7)

    def rows(self, *shape):
        return self.random.standard_normal(shape).astype("f")

    def test_arrays(self):
        for _ in range(3):
            x, w, b = self.rows(6, 9), self.rows(9, 4), self.rows(4)
            e = numpy.exp(x.astype("d") @ w + b)
            y = numpy.empty((6, 4), "f")
            self.context.apply("linear_softmax", [x, w, b], [y])
            self.assertLess(abs(y - e / e.sum(1, keepdims=True)).max(), 5e-6)
            self.assertLess(abs(ridge.linear_softmax(x, numpy.asfortranarray(w), b) - y).max(), 5e-6)
        self.assertEqual(len(self.context._calls), 0)

    def test_views(self):
        whole, y = self.rows(8, 20), numpy.zeros((8, 20), "f")
        self.softmax(whole[1:6, 3:12], y[2:7, 4:13])
        y[2:7, 4:13] = 0
        self.assertEqual(abs(y).max(), 0)

    def test_empty_batches(self):
        for shape in [(0, 4), (0, 1)]:
            self.softmax(numpy.zeros(shape, "f"), numpy.zeros(shape, "f"))
        x = numpy.zeros((0, 9), "f")
        self.assertEqual(ridge.linear_softmax(x, self.rows(9, 4), self.rows(4)).shape, (0, 4))

    def test_read_only_arrays_are_inputs_only(self):
        x, y = self.rows(3, 10)[:, 2:8], numpy.zeros((3, 6), "f")
        x.flags.writeable = False
        self.softmax(x, y)
        before = x.copy()
        class Before21(numpy.ndarray):
            def __dlpack__(self, *, stream=None):
                if not self.flags.writeable:
                    raise BufferError("cannot export readonly array")
                return super().__dlpack__(stream=stream)

        old = x.view(Before21)
        y[:] = 0
        self.softmax(old, y.view(Before21))
        for array in (x, old):
            with self.assertRaisesRegex(ridge.Error, "outputs.0. .* is read-only"):
                self.context.apply("online_softmax", [y], [array])
        self.assertTrue((x == before).all())

    def test_labels_of_either_integer_type(self):
        x, w, b, labels = self.rows(30, 9), self.rows(7, 9), self.rows(7), self.random.integers(-1, 7, 30)
        self.assertEqual(labels.dtype, "int64")
        for a, b in zip(*(ridge.linear_cross_entropy(x, w, b, labels.astype(dtype)) for dtype in ("int32", "int64"))):
            self.assertTrue((a == b).all() and a.any())

    def test_any_rank(self):
        for shape in [(5,), (2, 3, 5), (2, 1, 0, 5)]:
            self.softmax(self.rows(*shape), numpy.zeros(shape, "f"))

    def test_types_that_cannot_pass(self):
        y = numpy.zeros((3, 4), "f")
        for x in [y.astype(">f4"), y.astype(object), y.astype("f2,f2"), y.astype("datetime64[s]"), y.astype("d")]:
            x.flags.writeable = False
            with self.assertRaises(ridge.Error):
                self.context.apply("online_softmax", [x], [y])

    def test_what_is_between_two_elements_is_refused(self):
        records = numpy.zeros(4, [("a", "f"), ("b", "u1")])["a"][None]
        with self.assertRaises(ridge.Error):
            self.context.apply("online_softmax", [records], [numpy.zeros((1, 4), "f")])

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_with_pytorch(self):
        x, y = self.rows(3, 6), torch.zeros(3, 6)
        self.context.apply("online_softmax", [x], [y])
        self.assertLess(float((torch.softmax(torch.from_numpy(x), 1) - y).abs().max()), 5e-7)
        with self.assertRaisesRegex(ridge.Error, "requires grad"):
            self.context.apply("online_softmax", [x], [y.requires_grad_()])


@unittest.skipIf(jax is None, "JAX is not installed")
class JaxCalls(unittest.TestCase):
    def test_arrays_are_inputs_only(self):
        with jax.default_device(jax.devices("cpu")[0]):
            x = jax.random.normal(jax.random.key(0), (300, 500)) @ jax.numpy.ones((500, 700))  # may still be computed
        y = numpy.zeros(x.shape, "f")
        ridge.apply("online_softmax", [x], [y])
        self.assertLess(abs(y - numpy.asarray(jax.nn.softmax(x))).max(), 5e-6)
        before = numpy.array(x)
        with self.assertRaisesRegex(ridge.Error, "outputs.0. .ArrayImpl. is immutable"):
            ridge.apply("online_softmax", [y], [x])
        self.assertTrue((numpy.asarray(x) == before).all())

    def test_traced_arrays_are_refused(self):
        def traced(x):
            ridge.apply("online_softmax", [x], [numpy.zeros(x.shape, "f")])
            return x

        with self.assertRaisesRegex(ridge.Error, "inputs.0.*Tracer"):
            jax.jit(traced)(jax.numpy.zeros((2, 3)))

    def test_named_operations_say_that_they_make_no_outputs(self):
        x = jax.numpy.zeros((2, 3))
        with self.assertRaisesRegex(ridge.Error, "outputs of type ArrayImpl"):
            ridge.linear_softmax(x, x.T, x[0, :2])
