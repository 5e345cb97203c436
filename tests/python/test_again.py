"""Calls of ridge.torch like an earlier one, which skip what Python derives from shapes. test_torch.py runs it."""
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None
else:
    import ridge.torch
    from ridge.torch import _calls
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch_samples import as_tuple, attention, rms_norm, samples, samples_without_gradient


def fresh(value):
    """Another tensor with other values, in the same strides."""
    if not isinstance(value, torch.Tensor):
        return value
    other = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return other.copy_(torch.randn_like(value) if value.dtype == torch.float32 else value)


@unittest.skipUnless(torch, "PyTorch is not installed")
class Again(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(8)

    def test_every_operation_is_kept(self):
        """A third call, of other tensors, does not derive anything anew, and is right."""
        for name, arguments, *_ in [*samples(), *samples_without_gradient()]:
            with self.subTest(name), torch.no_grad():
                op = getattr(ridge.torch, name)
                op(*arguments)
                others = [fresh(a.detach() if isinstance(a, torch.Tensor) else a) for a in arguments]
                want = as_tuple(getattr(ridge, name)(*others))
                with mock.patch.object(_calls, "_whole", side_effect=AssertionError("derived anew")):
                    got = as_tuple(op(*others))
                for g, w in zip(got, want):
                    self.assertTrue(g.numel() == 0 if w is None else torch.equal(g.view(torch.uint8), w.view(torch.uint8)))

    def test_tensors_given_twice_at_first(self):
        q, k, v = (torch.randn(1, 2, 5, 8) for _ in "qkv")
        ridge.torch.attention(q, q, q)
        torch.testing.assert_close(ridge.torch.attention(q, k, v), attention(q, k, v))

    def test_views_of_one_tensor_at_first(self):
        q, k, v = torch.randn(2, 5, 3, 4, 8).transpose(1, 3).unbind(2)
        ridge.torch.attention(q, k, v)
        others = [torch.randn(2, 5, 3, 4, 8).transpose(1, 3).unbind(2)[i] for i in range(3)]
        torch.testing.assert_close(ridge.torch.attention(*others), attention(*others))

    def test_other_strides_types_and_options_are_other_calls(self):
        x, gamma = torch.randn(6, 8), torch.randn(8)
        ridge.torch.rms_norm(x, gamma)
        for other in (torch.randn(6, 16)[:, :8], torch.randn(6, 24)[:, 8:16]):
            torch.testing.assert_close(ridge.torch.rms_norm(other, gamma), rms_norm(other, gamma))
        self.assertEqual(ridge.torch.rms_norm(x.bfloat16(), gamma).dtype, torch.bfloat16)
        torch.testing.assert_close(ridge.torch.rms_norm(x, gamma, 0.5, "silu"), rms_norm(x, gamma, 0.5, "silu"))
        q, sink = torch.randn(1, 2, 5, 8), torch.randn(2)
        window = False, 0.0, (2, 0)
        for more in ((False, 0.0, (1, 0)), window, (*window, 0.0, sink), (*window, 0.0, sink + 1)):
            torch.testing.assert_close(ridge.torch.attention(q, q, q, *more), attention(q, q, q, *more))

    def test_negated_views(self):
        x, gamma = torch.randn(6, 8), torch.randn(8)
        ridge.torch.rms_norm(x, gamma)
        negated = torch._neg_view(x)
        self.assertTrue(negated.is_neg())
        torch.testing.assert_close(ridge.torch.rms_norm(negated, gamma), -rms_norm(x, gamma))

    def test_modes_and_transformations_see_the_operation(self):
        """Though the kernel of plain tensors is called without asking PyTorch's dispatcher."""
        x, gamma = torch.randn(6, 8), torch.randn(8)
        want, seen = ridge.torch.rms_norm(x, gamma), []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), named=None):
                seen.append(str(function))
                return function(*arguments, **(named or {}))

        with Mode():
            ridge.torch.rms_norm(x, gamma)
        self.assertEqual(seen, ["ridge.rms_norm.default"])
        with FakeTensorMode() as fake:
            made = ridge.torch.rms_norm(fake.from_tensor(x), fake.from_tensor(gamma))
        self.assertIs(type(made), FakeTensor)
        self.assertIn("ridge.rms_norm", make_fx(lambda *given: ridge.torch.rms_norm(*given))(x, gamma).code)
        each = torch.vmap(lambda row: ridge.torch.rms_norm(row[None], gamma)[0])
        torch.testing.assert_close((each(x), ridge.torch.rms_norm(x, gamma)), (want, want))
        with torch.inference_mode():
            self.assertTrue(ridge.torch.rms_norm(x, gamma).is_inference())
        self.assertFalse(ridge.torch.rms_norm(x, gamma).is_inference())

    def test_faults_are_not_kept(self):
        for _ in range(3):
            with self.assertRaisesRegex(ridge.Error, "rms_norm"):
                ridge.torch.rms_norm(torch.randn(2, 4), torch.randn(5))

    def test_calls_that_are_kept_are_few(self):
        gamma = torch.randn(8)
        for rows in range(2 * _calls.MOST_CALLS):
            x = torch.randn(rows + 1, 8)
            torch.testing.assert_close(ridge.torch.rms_norm(x, gamma), rms_norm(x, gamma))

    def test_streams_have_contexts_of_their_own(self):
        """The kernel for a GPU, of a CPU's tensors and of streams that are invented."""
        x, gamma, schema = torch.randn(6, 8), torch.randn(8), torch.ops.ridge.rms_norm.default._schema
        current = iter([7, 7, 7, 8, 8, 7, 7])  # a first call asks twice
        with mock.patch.object(_calls, "_current_stream", lambda device: next(current)):
            kernel = _calls._kernel(ridge.rms_norm, schema, True)
            for _ in range(4):
                torch.testing.assert_close(kernel(x, gamma), rms_norm(x, gamma))
        self.assertEqual(list(current), [7])
        contexts = [_calls._contexts.pop((-1, stream)) for stream in (7, 8)]
        self.assertEqual(len(set(map(id, contexts))), 2)
