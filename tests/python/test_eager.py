"""Eager calls of ridge.torch: which of them go past PyTorch's dispatcher, and that all are the same. test_torch.py runs it."""
import contextlib
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None
else:
    import ridge.torch
    from ridge.torch import _calls
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.autograd import forward_ad
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode
    from torch_samples import as_tuple, leaves, rms_norm, samples, samples_without_gradient


def all_samples():
    """(name, arguments) of each operation."""
    return [sample[:2] for sample in [*samples(), *samples_without_gradient()]]


class Packet:
    """An operation that counts the calls that come to it, and makes them."""

    def __init__(self, packet):
        self.packet, self.count = packet, 0

    def __call__(self, *given, **named):
        self.count += 1
        return self.packet(*given, **named)


@contextlib.contextmanager
def watched(name):
    """The Packet in the place of an operation's."""
    scope = getattr(ridge.torch, name).__globals__
    packet = Packet(scope["_packet"])
    with mock.patch.dict(scope, {"_packet": packet}):
        yield packet


def trips(name, *given, **named):
    """(how often a call goes to the dispatcher, what it gives)."""
    with watched(name) as packet:
        made = getattr(ridge.torch, name)(*given, **named)
    return packet.count, made


def same(got, want):
    return all(torch.equal(g.view(torch.uint8), w.view(torch.uint8)) for g, w in zip(as_tuple(got), as_tuple(want)))


def detached(arguments):
    return [a.detach() if isinstance(a, torch.Tensor) else a for a in arguments]


def function_mode():
    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):
            return function(*arguments, **(named or {}))

    return Mode()


def dispatch_mode():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            return function(*arguments, **(named or {}))

    return Mode()


def profiler():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def flops():
    return FlopCounterMode(display=False)


@unittest.skipUnless(torch, "PyTorch is not installed")
class Eager(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(9)
        self.x, self.gamma = torch.randn(6, 8), torch.randn(8)

    def each(self, check):
        for i, (name, arguments) in enumerate(all_samples()):
            with self.subTest(name, sample=i):
                check(name, arguments)

    def plain(self, name, arguments):
        empty = any(isinstance(a, torch.Tensor) and a.numel() == 0 for a in arguments)
        want = getattr(torch.ops.ridge, name)(*detached(arguments))
        for given, context in ((detached(arguments), contextlib.nullcontext()), (arguments, torch.no_grad())):
            unrecorded = mock.patch.dict(getattr(ridge.torch, name).__globals__, {"_record": None})
            with context, unrecorded:
                count, got = trips(name, *given)
            self.assertTrue(count == 0 or empty)
            self.assertTrue(same(got, want))
            self.assertFalse(any(g.requires_grad for g in as_tuple(got)))

    def test_plain_calls_go_past_the_dispatcher(self):
        self.each(self.plain)

    def recorded(self, name, arguments):
        if not leaves(arguments):
            return
        found = []
        for call in (getattr(torch.ops.ridge, name), lambda *given: trips(name, *given)[1]):
            made = as_tuple(call(*arguments))
            some = [m for m in made if m.requires_grad]
            torch.manual_seed(1)
            upstream = [torch.randn_like(m) for m in some]
            slopes = torch.autograd.grad(some, leaves(arguments), upstream, allow_unused=True)
            found.append(([m.requires_grad for m in made], tuple(m.detach() for m in made), slopes))
        (way, want, slopes), (way_2, got, slopes_2) = found
        self.assertEqual(way, way_2)
        self.assertTrue(same(got, want) and same(slopes_2, slopes))
        self.assertLessEqual(trips(name, *arguments)[0], any(a.numel() == 0 for a in leaves(arguments)))

    def test_recorded_calls_go_past_the_dispatcher(self):
        self.each(self.recorded)

    def test_a_backward_goes_past_the_dispatcher(self):
        x = self.x.requires_grad_()
        for name, backward, y in (
            ("rms_norm", "rms_norm_backward", ridge.torch.rms_norm(x, self.gamma)),
            ("scaled_softmax", "softmax_backward", ridge.torch.scaled_softmax(x)),
        ):
            with self.subTest(name), watched(backward) as packet, profiler() as seen:
                torch.autograd.grad(y.sum(), x, retain_graph=True)  # the profiler sees it
            self.assertEqual(packet.count, 1)
            self.assertIn(f"ridge::{backward}", [event.name for event in seen.events()])
            with self.subTest(name), watched(backward) as packet:
                torch.autograd.grad(y.sum(), x)
            self.assertEqual(packet.count, 0)

    def test_every_mode_sees_every_operation(self):
        modes = [function_mode, dispatch_mode, flops, profiler, autocast, forward_ad.dual_level, FakeTensorMode]
        for mode in modes:
            for name, arguments in {name: arguments for name, arguments in all_samples()}.items():
                arguments = detached(arguments)
                with self.subTest(name, mode=mode.__name__):
                    want = getattr(torch.ops.ridge, name)(*arguments)
                    with mode() as active:
                        if mode is FakeTensorMode:
                            arguments = [active.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments]
                        count, got = trips(name, *arguments)
                    self.assertEqual(count, 1)
                    if mode not in (autocast, FakeTensorMode):
                        self.assertTrue(same(got, want))

    def test_modes_without_tensors_of_their_own(self):
        """A FakeTensorMode refuses a call of real tensors, and would not be asked about one that goes past it."""
        with FakeTensorMode(), self.assertRaises(Exception):
            ridge.torch.rms_norm(self.x, self.gamma)
        with FakeTensorMode(allow_non_fake_inputs=True):
            self.assertEqual(type(ridge.torch.rms_norm(self.x, self.gamma)).__name__, "FakeTensor")

    def test_transformations_see_the_operation(self):
        x, gamma = self.x, self.gamma
        want, slope = rms_norm(x, gamma), torch.autograd.functional.jacobian(lambda x: rms_norm(x, gamma).sum(), x)
        with watched("rms_norm") as packet:
            of = ridge.torch.rms_norm
            torch.testing.assert_close(torch.vmap(lambda row: of(row[None], gamma)[0])(x), want)
            self.assertEqual(packet.count, 1)
            with self.assertRaisesRegex(RuntimeError, "setup_context"):  # PyTorch has no rule for what ridge records
                torch.func.grad(lambda x: of(x, gamma).sum())(x)
            self.assertEqual(packet.count, 2)
            torch.vmap(lambda _: of(x, gamma), randomness="same")(torch.zeros(2))  # of tensors that are not mapped
            self.assertEqual(packet.count, 3)
        got = torch.autograd.functional.jacobian(lambda x: ridge.torch.rms_norm(x, gamma).sum(), x)
        torch.testing.assert_close(got, slope)

    def test_traces_see_the_operation(self):
        x, gamma = self.x, self.gamma

        def call(x):
            return ridge.torch.rms_norm(x, gamma)

        for how in ({}, {"pre_dispatch": True}, {"tracing_mode": "fake", "_allow_non_fake_inputs": True}):
            self.assertIn("ridge.rms_norm", make_fx(call, **how)(x).code)
            self.assertIn("ridge.rms_norm", make_fx(lambda x: x + ridge.torch.rms_norm(gamma[None], gamma), **how)(x).code)
        self.assertIn("ridge.rms_norm", str(torch.fx.symbolic_trace(call).graph))
        self.assertIn("ridge::rms_norm", str(torch.jit.trace(call, x).graph))
        exported = torch.export.export(Module(gamma), (x,))
        self.assertIn("ridge.rms_norm", str(exported.graph))
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(call, fullgraph=True, backend="eager")(x), call(x))

    def test_the_profiler_names_the_operation(self):
        with profiler() as seen:
            ridge.torch.rms_norm(self.x, self.gamma)
        self.assertIn("ridge::rms_norm", [event.name for event in seen.events()])

    def test_tensors_that_are_more_than_memory(self):
        """Each is the dispatcher's: tried in the place of each tensor, where a like plain call is kept."""
        x, gamma = self.x, self.gamma
        want = ridge.torch.rms_norm(x, gamma)

        class Other(torch.Tensor):
            pass

        class Silent(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

        for kind in (Other, Silent):
            for given in ((x.as_subclass(kind), gamma), (x, gamma.as_subclass(kind))):
                count, made = trips("rms_norm", *given)
                self.assertEqual(count, 1)
                torch.testing.assert_close(made.as_subclass(torch.Tensor), want)
        for given in ((torch._neg_view(-x), gamma), (x, torch._neg_view(-gamma))):
            self.assertTrue(any(g.is_neg() for g in given))
            count, made = trips("rms_norm", *given)
            self.assertEqual(count, 1)
            torch.testing.assert_close(made, want)
        count, made = trips("rms_norm", x.to("meta"), gamma.to("meta"))
        self.assertEqual((count, made.device.type), (1, "meta"))
        self.assertEqual(ridge.torch.rms_norm(x[:0].to("meta"), gamma.to("meta")).device.type, "meta")
        for odd in (x.to_sparse(), x.to_sparse_csr(), x.to_mkldnn(), torch.nested.nested_tensor([x])):
            with watched("rms_norm") as packet, self.assertRaises(Exception):
                ridge.torch.rms_norm(odd, gamma)
            self.assertEqual(packet.count, 1)

    def test_an_optional_tensor_without_memory_is_not_left_out(self):
        q, sink = torch.randn(1, 2, 5, 8), torch.randn(2)
        want = ridge.torch.attention(q, q, q, sink=torch.zeros(2))
        ridge.torch.attention(q, q, q, sink=sink)
        count, made = trips("attention", q, q, q, sink=torch._neg_view(-sink))
        self.assertEqual(count, 1)
        torch.testing.assert_close(made, ridge.torch.attention(q, q, q, sink=sink))
        with self.assertRaisesRegex(ridge.Error, "no memory"):
            ridge.attention(q, q, q, sink=torch._efficientzerotensor(2))
        with watched("attention") as packet:
            try:
                torch.testing.assert_close(ridge.torch.attention(q, q, q, sink=torch._efficientzerotensor(2)), want)
            except RuntimeError:  # its fallback makes a scalar of it, whose stride is 0
                pass
            ridge.torch.attention(q, q, q, sink=sink.to("meta"))  # of which the dispatcher makes outputs, not computed
        self.assertEqual(packet.count, 2)

    def test_arguments_of_other_types(self):
        """A number in a tensor is not the tensor: its value may change."""
        eps = torch.tensor(1e-5)
        for value in (1e-5, 0.5, 2.0):
            eps.fill_(value)
            torch.testing.assert_close(ridge.torch.rms_norm(self.x, self.gamma, eps), rms_norm(self.x, self.gamma, value))
        q = torch.randn(1, 2, 5, 8)
        torch.testing.assert_close(*[ridge.torch.attention(q, q, q, window=w) for w in ([2, 2], (2, 2))])
        with self.assertRaises(Exception):
            ridge.torch.rms_norm(self.x, self.gamma, "none")

    def test_faults_are_told_once(self):
        with self.assertRaisesRegex(ridge.Error, "gamma") as caught:
            ridge.torch.rms_norm(self.x, torch.randn(5))
        self.assertIsNone(caught.exception.__context__)

    def test_saved_tensors_are_packed(self):
        x, packed = self.x.requires_grad_(), []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
            count, _ = trips("rms_norm", x, self.gamma)
        self.assertEqual((count, packed), (0, [x.shape, self.gamma.shape]))

    def test_a_checkpoint_computes_it_again(self):
        x = self.x.requires_grad_()
        y = torch.utils.checkpoint.checkpoint(lambda x: ridge.torch.rms_norm(x, self.gamma), x, use_reentrant=False)
        got = torch.autograd.grad(y.square().sum(), x)
        torch.testing.assert_close(got, torch.autograd.grad(rms_norm(x, self.gamma).square().sum(), x))

    def test_outputs_of_a_gpu_are_made_on_its_device(self):
        """By the short way where the device is current: of tensors without memory, as the dispatcher of no GPU is asked."""
        output = mock.MagicMock(shape=(4, 8), dtype=torch.float32, is_cpu=False, is_cuda=True)
        output.stride.return_value, output.get_device.return_value = (8, 1), 1
        long = output.new_empty.return_value.new_empty_strided
        with mock.patch.object(_calls, "_quick") as quick, mock.patch.object(torch._C, "_cuda_getDevice", create=True) as current:
            make = _calls._maker(output)
            for device, short in ((0, 0), (1, 1), (0, 1)):
                current.return_value = device
                make()
                self.assertEqual(quick._empty_strided_cuda.call_count, short)
        quick._empty_strided_cuda.assert_called_with((4, 8), (8, 1), torch.float32)
        self.assertEqual(long.call_args_list, [mock.call((4, 8), (8, 1))] * 2)


class Module(torch.nn.Module if torch else object):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = torch.nn.Parameter(gamma)

    def forward(self, x):
        return ridge.torch.rms_norm(x, self.gamma)
