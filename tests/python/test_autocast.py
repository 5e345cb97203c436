"""ridge.torch's operations and modules under torch.autocast: their types are those of PyTorch's. test_torch.py runs it.

A GPU's rules are tried on tensors without memory, which need none.
"""
import contextlib
import unittest

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
else:
    import ridge.torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch_samples import as_tuple, leaves, samples, samples_without_gradient, to_double


def heads(x, like):
    return x if x.shape[1] == like.shape[1] else x.repeat_interleave(like.shape[1] // x.shape[1], 1)


# What PyTorch has for an operation, of the same first arguments: its result has the type that ridge's should have.
EQUIVALENTS = {
    "l2_norm": lambda x, eps, *_: F.normalize(x, dim=-1, eps=eps),
    "rms_norm": lambda x, gamma, *_: F.rms_norm(x, x.shape[-1:], gamma),
    "layer_norm": lambda x, gamma, beta, *_: F.layer_norm(x, x.shape[-1:], gamma, beta),
    "add_rms_norm": lambda x, residual, gamma, *_: F.rms_norm(x + residual, x.shape[-1:], gamma),
    "add_layer_norm": lambda x, residual, gamma, beta, *_: F.layer_norm(x + residual, x.shape[-1:], gamma, beta),
    "scaled_softmax": lambda x, *_: F.softmax(x, -1),
    "masked_softmax": lambda x, mask, *_: F.log_softmax(x + mask, -1),
    "attention": lambda q, k, v, *_: F.scaled_dot_product_attention(q, heads(k, q), heads(v, q)),
    "linear_cross_entropy": lambda x, w, b, labels, *_: F.cross_entropy(F.linear(x, w, b), labels, reduction="none"),
    "gemm": lambda a, b, *_: a @ b,
    "batched_gemm": lambda a, b, *_: torch.bmm(a, b),
    "gemm_epilogue": lambda a, b, c=None, *_: F.gelu(a @ b if c is None else torch.addmm(c, a, b)),
    "linear_softmax": lambda x, w, b: F.softmax(F.linear(x, w.mT, b), -1),
    "linear_norm_activation": lambda x, w, b, gamma, beta: F.gelu(
        F.layer_norm(F.linear(x, w.mT, b), gamma.shape, gamma, beta)
    ),
    "swiglu_ffn": lambda x, w1, w2: F.linear(F.linear(x, w1).chunk(2, -1)[0], w2),
}


@contextlib.contextmanager
def autocast(device, dtype):
    """torch.autocast, which a GPU's needs no GPU for: torch.autocast itself asks for one."""
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, dtype)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, before[0])
        torch.set_autocast_dtype(device, before[1])


def is_real(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


@unittest.skipUnless(torch, "PyTorch is not installed")
class Autocast(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)

    def types(self, device, dtype, move):
        """Compares the types of all samples, whose arguments `move` brings to `device`."""
        for i, (name, arguments, _) in enumerate(samples()):
            with self.subTest(name, sample=i, device=device, dtype=dtype), autocast(device, dtype):
                arguments = [move(a) if isinstance(a, torch.Tensor) else a for a in arguments]
                got = as_tuple(getattr(torch.ops.ridge, name)(*arguments))
                self.assertEqual(got[0].dtype, EQUIVALENTS[name](*arguments).dtype)
                if name in ("attention", "linear_cross_entropy"):
                    self.assertEqual(got[1].dtype, torch.float32)

    def test_types_on_a_cpu(self):
        for dtype in (torch.bfloat16, torch.float16):
            self.types("cpu", dtype, lambda tensor: tensor)

    def test_types_on_a_gpu(self):
        try:
            with FakeTensorMode():
                F.scaled_dot_product_attention(*[torch.empty(1, 1, 8, 8, device="cuda")] * 3)
        except RuntimeError as error:  # PyTorch 2.6 asks for the driver
            self.skipTest(str(error).splitlines()[0])
        for dtype in (torch.bfloat16, torch.float16):
            for given in (torch.float32, dtype):

                def move(t, given=given):
                    return torch.empty(t.shape, device="cuda", dtype=given if is_real(t) else t.dtype)

                with FakeTensorMode():
                    self.types("cuda", dtype, move)

    def test_answers_and_gradients(self):
        for i, (name, arguments, reference) in enumerate(samples()):
            with self.subTest(name, sample=i):
                wide = to_double(arguments)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    got = as_tuple(getattr(torch.ops.ridge, name)(*arguments))
                want = as_tuple(reference(*wide))
                torch.testing.assert_close(got, want, check_dtype=False, atol=2e-2, rtol=1e-2)
                some = [i for i, w in enumerate(want) if w.requires_grad]
                upstream = [torch.randn_like(want[i]) for i in some]
                want = torch.autograd.grad([want[i] for i in some], leaves(wide), upstream)
                upstream = [u.to(got[i].dtype) for u, i in zip(upstream, some)]
                results = [got[i] for i in some]
                got = torch.autograd.grad(results, leaves(arguments), upstream, retain_graph=True)
                for g, w in zip(got, want):  # a sum that nearly cancels errs as its parts do, which are as large as any
                    atol = max(5e-2, 2**-7 * w.abs().max().item() if w.numel() else 0)
                    torch.testing.assert_close(g, w, check_dtype=False, atol=atol, rtol=2e-2)
                self.assertEqual({g.dtype for g in got}, {torch.float32})  # that of the arguments
                with torch.autocast("cpu", dtype=torch.bfloat16):  # a backward inside of autocast is the same
                    inside = torch.autograd.grad(results, leaves(arguments), upstream)
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(inside, got)))

    def test_what_has_no_policy_is_left_alone(self):
        for name, arguments in samples_without_gradient():
            if not name.startswith(("quantize", "fp8", "int8", "nvfp4", "prune")) and not name.endswith(("_backward", "_grad")):
                continue
            with self.subTest(name):
                op = getattr(torch.ops.ridge, name)
                want = as_tuple(op(*arguments))
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    got = as_tuple(op(*arguments))
                self.assertEqual([g.dtype for g in got], [w.dtype for w in want])
                self.assertTrue(all(torch.equal(g.view(torch.uint8), w.view(torch.uint8)) for g, w in zip(got, want)))

    def test_products_without_gradient(self):
        for name, arguments in samples_without_gradient():
            if name in ("grouped_gemm", "structured_sparsity", "structured_sparsity_ffn", "attention_paged", "attention_varlen"):
                with self.subTest(name), torch.autocast("cpu", dtype=torch.bfloat16):
                    self.assertEqual(as_tuple(getattr(torch.ops.ridge, name)(*arguments))[0].dtype, torch.bfloat16)

    def test_a_type_that_is_asked_for(self):
        a, b = torch.randn(4, 8), torch.randn(8, 5)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(ridge.torch.gemm(a, b, 1.0, torch.float32).dtype, torch.float32)
            with torch.autocast("cpu", enabled=False):
                self.assertEqual(ridge.torch.gemm(a, b).dtype, torch.float32)

    def test_sums_of_two_types(self):
        x, residual = torch.randn(3, 16).bfloat16(), torch.randn(3, 16)
        norm = ridge.torch.FusedAddRMSNorm(16)
        total = x + residual
        torch.testing.assert_close(norm(x, residual), (F.rms_norm(total, (16,)), total))

    def test_compiled(self):
        x, w1, w2, gamma = (torch.randn(*shape, requires_grad=True) for shape in ((3, 8), (12, 8), (8, 6), (8,)))

        def layer(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return ridge.torch.swiglu_ffn(ridge.torch.rms_norm(x, gamma), w1, w2)

        got, want = torch.compile(layer, fullgraph=True, backend="aot_eager")(x), layer(x)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(*[torch.autograd.grad(y.float().sum(), (x, w1, w2, gamma)) for y in (got, want)])
