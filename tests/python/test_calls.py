"""What a context keeps of its calls, and the answers of them: on PyTorch's tensors and a stand-in for them."""
import contextlib
import math
import sys
import threading
import types
import unittest
import weakref
from unittest import mock

import ridge
from answers import Answers
from ridge import _context, _tensors
from tensors import StandIn, Torch, torch


class Calls(Answers):
    def test_operations_by_name_run_on_the_context_that_is_given(self):
        x, gamma = self.filled((3, 4))[0], self.filled((4,))[0]
        ridge.rms_norm(x, gamma, context=self.context)
        self.assertEqual(len(self.context._calls), 1)

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

    def test_options_are_part_of_a_call(self):
        (x, _), (w, _), (b, _) = self.filled((1, 3)), self.filled((4, 3)), self.filled((4,))
        labels, loss, lse = self.kind.empty((1,), dtype="int32"), self.kind.empty((1,)), self.kind.empty((1,))
        self.kind.fill(labels, {(0,): 2})
        read = self.kind.read
        z = [read(b, (j,)) + sum(read(x, (0, k)) * read(w, (j, k)) for k in range(3)) for j in range(4)]
        top = math.log(sum(math.exp(v) for v in z))
        for s in (0.0, 0.25, 0.0, 0.5):
            self.context.apply("linear_cross_entropy", [x, w, b, labels], [loss, lse], options=[-100, s, 0, 0])
            self.assertAlmostEqual(self.kind.read(loss, (0,)), top - (1 - s) * z[2] - s * sum(z) / 4, delta=1e-5)
        self.assertEqual(len(self.context._calls), 3)

    def test_rows_that_do_not_fold_are_refused(self):
        x, y = self.kind.empty((2, 3, 4), (100, 5, 1)), self.kind.empty((2, 3, 4))
        with self.assertRaisesRegex(ridge.Error, "x"):
            self.context.apply("online_softmax", [x], [y])

    def test_refusals_say_why_and_are_not_kept(self):
        self.softmax(6, 9, 4)
        (x, w, b), _ = self.operands(6, 9, 4)
        y, empty = self.kind.empty((6, 4)), self.kind.empty
        for said, inputs, outputs, how in [
            ("depth is 8 in w and 9 elsewhere", [x, empty((8, 4)), b], [y], {}),
            ("classes is 5 in p and 4 elsewhere", [x, w, b], [empty((6, 5))], {}),
            ("the last dimension of x has stride 6, not 1|x is not row-major", [empty((6, 9), (1, 6)), w, b], [y], {}),
            ("w has 1 dimensions, not 2", [x, b, b], [y], {}),
            ("takes 3 inputs and 1 outputs", [x, w], [y], {}),
            ("has no variant 'cpu/none'", [x, w, b], [y], {"variant": "cpu/none"}),
        ]:
            for _ in range(2):
                with self.assertRaisesRegex(ridge.Error, said):
                    self.context.apply("linear_softmax", inputs, outputs, **how)
        with self.assertRaisesRegex(ridge.Error, "f64"):
            self.context.apply("linear_softmax", [empty((6, 9), dtype="float64"), w, b], [y])
        with self.assertRaisesRegex(ridge.Error, "no target 'none'"):
            self.context.apply("none", [x, w, b], [y])
        self.assertEqual(len(self.context._calls), 1)
        self.softmax(6, 9, 4)

    def test_only_so_many_calls_are_kept(self):
        most = _context.MOST_CALLS
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

    def test_empty_batches(self):
        for _ in range(2):
            self.softmax(0, 9, 4)

    def test_an_output_of_none_is_refused(self):
        x, _ = self.filled((2, 3))
        with self.assertRaisesRegex(ridge.Error, r"outputs\[0\] is None"):
            ridge.apply("fused_l2norm", [x], [None])

    # ---- autograd -------------------------------------------------------------------------------------------------
    def test_tensors_that_require_grad_are_refused_where_autograd_records(self):
        self.softmax(5, 8, 3)
        for which in range(4):
            for _ in range(2):  # a kept call must not let them through
                (x, w, b), _ = self.operands(5, 8, 3)
                arrays = [x, w, b, self.kind.empty((5, 3))]
                arrays[which].requires_grad = True
                name = f"linear_softmax: {'outputs.0.' if which == 3 else f'inputs.{which}.'} requires grad.*no_grad.*detach"
                with self.assertRaisesRegex(ridge.Error, name):
                    self.context.apply("linear_softmax", arrays[:3], arrays[3:])
        self.assertEqual(len(self.context._calls), 1)

    def test_tensors_that_require_grad_pass_where_it_does_not(self):
        with self.no_grad():
            for _ in range(2):
                self.softmax(5, 8, 3, requires_grad=True)
                self.softmax(5, 8, 3)
        self.assertEqual(len(self.context._calls), 1)
        with self.assertRaisesRegex(ridge.Error, "requires grad"):
            self.softmax(5, 8, 3, requires_grad=True)


class StandInCalls(Calls, unittest.TestCase):
    kind = StandIn()

    @contextlib.contextmanager
    def no_grad(self):
        with mock.patch.object(_tensors, "grad_enabled", lambda: False):
            yield

    def test_threads_take_turns(self):
        cases = [self.operands(6, 9, 4) for _ in range(4)]
        outputs = [self.kind.empty((6, 4)) for _ in cases]
        self.softmax(6, 9, 4)
        for y in outputs:
            y.pause = 0.02  # after the inputs' addresses were taken, all others come to take theirs
        calls = [("linear_softmax", inputs, [y]) for (inputs, _), y in zip(cases, outputs)]
        threads = [threading.Thread(target=self.context.apply, args=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for (_, logits), y in zip(cases, outputs):
            self.check(y, logits)

    def test_the_device_is_the_tensor_s(self):
        tensor = self.kind.empty((2, 3), device=("cuda", 1))
        described = _tensors.describe(tensor).tensor
        self.assertEqual((described.device.type, described.device.id), (2, 1))
        self.assertEqual((described.shape[:2], described.strides[:2]), ([2, 3], [3, 1]))

    def test_the_stream_is_that_of_the_tensors_device(self):
        current = {0: 0x10, 1: 0x20}
        fake = types.SimpleNamespace(_C=types.SimpleNamespace(_cuda_getCurrentRawStream=current.get))
        with mock.patch.dict(sys.modules, torch=fake):
            for arrays, stream in [(["cuda", 1], 0x20), (["cuda", 0], 0x10), (["cpu", None], None)]:
                self.assertEqual(_context._stream_of([self.kind.empty((2,), device=arrays)])(), stream)


class TorchCalls(Calls):
    @staticmethod
    def no_grad():
        return torch.no_grad()

    def setUp(self):
        super().setUp()
        self.x, self.w, self.b = (self.kind.empty(shape).fill_(0.5) for shape in [(6, 9), (9, 4), (4,)])
        self.y = self.kind.empty((6, 4))

    def refused(self, said, x):
        self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])  # what the kept call must not let through
        with self.assertRaisesRegex(ridge.Error, said):
            self.context.apply("linear_softmax", [x, self.w, self.b], [self.y])

    def test_what_is_no_plain_memory_is_refused(self):
        device = self.kind.device
        conjugate = torch.zeros(6, 9, dtype=torch.complex64, device=device).conj()
        negative = torch._neg_view(self.x)
        self.assertTrue(conjugate.is_conj() and negative.is_neg() and negative.stride() == self.x.stride())
        for said, x in [
            ("resolve_conj", conjugate),
            ("resolve_neg", negative),
            ("torch.sparse_coo.*to_dense", self.x.to_sparse()),
            ("torch.sparse_csr.*to_dense", self.x.to_sparse_csr()),
            ("dequantize", torch.quantize_per_tensor(torch.zeros(6, 9), 0.1, 0, torch.qint8)),
            ("nested", torch.nested.nested_tensor([self.x, self.x])),
            ("device 'meta'", torch.empty(6, 9, device="meta")),
            ("dtype torch.float8_e4m3fnuz", self.x.to(torch.float8_e4m3fnuz)),
            ("", self.x.expand(2, 6, 9)[0].bool()),
        ]:
            self.refused(said, x)

    def test_tensors_without_memory_are_refused(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode(allow_non_fake_inputs=True):
            x = torch.empty(6, 9, device=self.kind.device)
            self.refused("inputs.0. .FakeTensor. has no memory of its own", x)

    def test_inference_mode(self):
        with torch.inference_mode():
            for _ in range(2):
                self.softmax(5, 8, 3)

    def test_parameters_and_subclasses(self):
        class Own(torch.Tensor):
            pass

        x, values = self.filled((6, 9))
        w, w_values = self.filled((9, 4))
        b, b_values = self.filled((4,))
        logits = self.logits(6, 9, 4, values, w_values, b_values)
        for made in (torch.nn.Parameter, lambda t: t.as_subclass(Own), lambda t: t):
            for _ in range(2):
                with torch.no_grad():
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


class OnGpu(TorchCalls):
    def reference(self, x, w, b):
        return torch.softmax(torch.addmm(b.double(), x.double(), w.double()), 1)

    def test_tensors_of_two_devices_are_refused(self):
        for _ in range(2):
            self.refused("another device", self.x.cpu())

    def test_the_current_stream_is_taken(self):
        self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])  # scratch memory cannot be made in a graph
        torch.cuda.synchronize(self.kind.device)
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(self.kind.device)  # PyTorch's own stream for captures is of one device
        with torch.cuda.device(self.kind.device), torch.cuda.graph(graph, stream=stream):
            self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y])
        self.w.uniform_(-1, 1)
        self.y.zero_()
        graph.replay()
        self.assertLess(float((self.y - self.reference(self.x, self.w, self.b)).abs().max()), 5e-6)

    def test_a_graph_keeps_its_scratch_memory(self):
        """The baseline has logits in scratch memory, which a later call of more rows makes anew."""
        baseline = {"variant": "cuda/baseline"}
        self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y], **baseline)
        torch.cuda.synchronize(self.kind.device)
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.kind.device)
        with torch.cuda.device(self.kind.device), torch.cuda.graph(graph, stream=stream):
            self.context.apply("linear_softmax", [self.x, self.w, self.b], [self.y], **baseline)
        more = self.x.repeat(20000, 1)
        self.context.apply("linear_softmax", [more, self.w, self.b], [more.new_empty(len(more), len(self.b))], **baseline)
        self.y.zero_()
        graph.replay()
        torch.cuda.synchronize(self.kind.device)
        self.assertLess(float((self.y - self.reference(self.x, self.w, self.b)).abs().max()), 5e-5)


@unittest.skipIf(torch is None or not torch.cuda.is_available(), "PyTorch or a GPU is missing")
class TorchCudaCalls(OnGpu, unittest.TestCase):
    kind = Torch("cuda:0")


@unittest.skipIf(torch is None or torch.cuda.device_count() < 2, "PyTorch or a second GPU is missing")
class TorchSecondGpuCalls(OnGpu, unittest.TestCase):
    """All on the second GPU, while the first is current."""

    kind = Torch("cuda:1")

    def test_each_device_in_turn(self):
        x, w, b = torch.randn(200, 300), torch.randn(300, 40), torch.randn(40)
        wanted = self.reference(x, w, b)
        for current in (0, 1, 0):
            for device in (1, 0, 1):
                with torch.cuda.device(current):
                    inputs = [t.to(f"cuda:{device}") for t in (x, w, b)]
                    y = torch.empty(200, 40, device=f"cuda:{device}")
                    self.context.apply("linear_softmax", inputs, [y])
                    self.assertLess(float((y.cpu() - wanted).abs().max()), 5e-5)
                    self.assertEqual(torch.cuda.current_device(), current)


del Calls, TorchCalls, OnGpu  # no cases of their own
