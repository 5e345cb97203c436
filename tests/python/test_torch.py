#!/usr/bin/env python3
"""ridge.torch: schemas, shapes, gradients and compilation of each custom operation, and the modules. Speaks TAP.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/python/test_torch.py

Answers and gradients are compared with those of PyTorch's own operations in fp64.
"""
import concurrent.futures
import copy
import inspect
import pathlib
import pickle
import sys
import unittest
import warnings

here = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(here.parents[2] / "python"), str(here.parent)]

import ridge  # noqa: E402
import tap  # noqa: E402
import test_gpt  # noqa: E402

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
else:
    import ridge.torch

NO_TORCH = "PyTorch is not installed"


# ---- samples: arguments of each operation, and the same in PyTorch's operations --------------------------------------
def randn(*shape, grad=True):
    return torch.randn(*shape, requires_grad=grad)


def act(name, z):
    if name == "gelu_tanh":
        return F.gelu(z, approximate="tanh")
    if name == "relu_squared":
        return F.relu(z) ** 2
    return {"none": torch.clone, "gelu": F.gelu, "silu": F.silu, "relu": F.relu}[name](z)


def rms_norm(x, gamma, eps=1e-5, activation="none"):
    return act(activation, F.rms_norm(x, x.shape[-1:], gamma, eps))


def layer_norm(x, gamma, beta, eps=1e-5, activation="none"):
    return act(activation, F.layer_norm(x, x.shape[-1:], gamma, beta, eps))


def softmax(x, scale=1.0, causal=0, log=False):
    z = scale * x
    if causal:
        rows, cols = z.shape
        seen = torch.arange(cols) <= torch.arange(rows)[:, None] % causal + cols - causal
        z = z.masked_fill(~seen, -torch.inf)
    return F.log_softmax(z, -1) if log else F.softmax(z, -1)


def attention(q, k, v, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None):
    m, n, heads = q.shape[2], k.shape[2], q.shape[1]
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    z = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if softcap:
        z = softcap * torch.tanh(z / softcap)
    ahead = torch.arange(n) - torch.arange(m)[:, None] - (n - m)  # of where a query stands
    if slope is not None:
        z = z - slope[:, None, None] * ahead.abs()
    hidden = (ahead > 0) & causal
    if window[0] >= 0:
        hidden = hidden | (ahead < -window[0])
    if window[1] >= 0:
        hidden = hidden | (ahead > window[1])
    z = z.masked_fill(hidden, -torch.inf)
    scores = z if sink is None else torch.cat((z, sink[:, None, None].expand(len(q), heads, m, 1)), -1)
    return scores.softmax(-1)[..., :n] @ v, scores.logsumexp(-1).detach()


def cross_entropy(x, w, b, labels, ignore_index=-100, label_smoothing=0.0, z_loss=0.0):
    z = x @ w.mT + b
    lse = z.logsumexp(-1)
    how = dict(reduction="none", ignore_index=ignore_index, label_smoothing=label_smoothing)
    return F.cross_entropy(z, labels, **how) + (labels != ignore_index) * z_loss * lse**2, lse.detach()


def gemm_epilogue(a, b, c=None, bias=None, row_bias=None, alpha=1.0, beta=1.0, activation="none", dtype=None):
    z = alpha * (a @ b)
    z = z if c is None else z + beta * c
    z = z if bias is None else z + bias
    return act(activation, z if row_bias is None else z + row_bias[:, None])


def swiglu(x, w1, w2):
    gate, up = (x @ w1.mT).chunk(2, -1)
    return (F.silu(gate) * up) @ w2.mT


def samples():
    """(name, arguments, the same by PyTorch) of all operations with a gradient."""
    activations = ("none", "gelu", "gelu_tanh", "silu", "relu")
    x, gamma, beta, residual = randn(3, 4, 33), randn(33), randn(33), randn(3, 4, 33)
    for name in activations:
        yield "rms_norm", (x, gamma, 1e-3, name), rms_norm
        yield "layer_norm", (x, gamma, beta, 1e-3, name), layer_norm
    yield "add_rms_norm", (x, residual, gamma), lambda x, r, *more: (rms_norm(x + r, *more), x + r)
    yield "add_layer_norm", (x, residual, gamma, beta), lambda x, r, *more: (layer_norm(x + r, *more), x + r)
    x = randn(6, 9)
    yield "scaled_softmax", (x, 0.7), softmax
    yield "scaled_softmax", (x, 0.7, 0, True), softmax
    yield "scaled_softmax", (x, 0.7, 3), softmax
    yield "masked_softmax", (x, randn(6, 9), 0.7), lambda x, mask, scale: softmax(scale * x + mask)
    yield "masked_softmax", (x, randn(6, 9), 0.7, True), lambda x, mask, scale, log: softmax(scale * x + mask, log=log)
    q, k, v = randn(2, 4, 5, 8), randn(2, 2, 7, 8), randn(2, 2, 7, 6)
    for more in ((), (True,), (True, 0.3, (2, -1)), (False, 0.0, (-1, -1), 1.5, randn(4)), (True,) + tail()):
        yield "attention", (q, k, v, *more), attention
    for ignored, *more in ((-100,), (-100, 0.1, 0.01), (2,)):
        labels = torch.tensor([0, 4, ignored, 2, 2, 1])
        yield "linear_cross_entropy", (randn(6, 8), randn(5, 8), randn(5), labels, ignored, *more), cross_entropy
    yield "gemm", (randn(4, 5), randn(5, 6), 0.5), lambda a, b, alpha: alpha * (a @ b)
    yield "batched_gemm", (randn(3, 4, 5), randn(3, 5, 6), 0.5), lambda a, b, alpha: alpha * (a @ b)
    yield "gemm_epilogue", (randn(4, 5), randn(5, 6)), gemm_epilogue
    for name in (*activations, "relu_squared"):
        operands = randn(4, 5), randn(5, 6), randn(4, 6), randn(6), randn(4)
        yield "gemm_epilogue", (*operands, 0.5, 2.0, name), gemm_epilogue
    yield "linear_softmax", (randn(4, 5), randn(5, 6), randn(6)), lambda x, w, b: F.softmax(x @ w + b, -1)
    yield (
        "linear_norm_activation",
        (randn(4, 5), randn(5, 16), randn(16), randn(16), randn(16)),
        lambda x, w, b, gamma, beta: layer_norm(x @ w + b, gamma, beta, activation="gelu"),
    )
    yield "swiglu_ffn", (randn(4, 8), randn(12, 8), randn(8, 6)), swiglu
    yield "swiglu_ffn", (randn(2, 3, 8), randn(14, 8), randn(8, 7)), swiglu
    yield "swiglu_ffn", (randn(0, 8), randn(12, 8), randn(8, 6)), swiglu


def tail():
    """attention's options behind causal, with slopes, which have no gradient."""
    return 0.0, (-1, -1), 0.0, None, torch.rand(4)


def samples_without_gradient():
    q, k, v = randn(1, 2, 5, 8, grad=False), randn(1, 2, 7, 8, grad=False), randn(1, 2, 7, 8, grad=False)
    out, lse = ridge.attention(q, k, v)
    yield "attention_backward", (q, k, v, out, lse, out)
    ends = torch.tensor([2, 2, 5], dtype=torch.int32), torch.tensor([3, 4, 7], dtype=torch.int32)
    rows = [x[0].transpose(0, 1).contiguous() for x in (q, k, v)]
    yield "attention_varlen", (*rows, *ends)
    pool = [randn(6, 4, 2, 8, grad=False) for _ in "kv"]
    yield "attention_paged", (randn(2, 4, 3, 8, grad=False), *pool, torch.randint(6, (2, 3)), torch.tensor([9, 0]))
    x, w, b, labels = randn(3, 8, grad=False), randn(5, 8, grad=False), randn(5, grad=False), torch.tensor([1, 0, 4])
    lse = ridge.linear_cross_entropy(x, w, b, labels)[1]
    yield "linear_cross_entropy_backward", (x, w, b, labels, lse, torch.ones(3))
    yield "linear_cross_entropy_grad", (x, w, b, labels, torch.ones(3))
    yield "grouped_gemm", (randn(6, 4, grad=False), randn(2, 4, 3, grad=False), torch.tensor([2, 6], dtype=torch.int32))
    x, w = randn(4, 256, grad=False), randn(8, 256, grad=False)
    q, s = ridge.quantize_fp8_blocks(x)
    wq, ws = ridge.quantize_fp8_blocks(w)
    codes = [randn(1, 2, 5, 8, grad=False).to(torch.float8_e4m3fn) for _ in "qkv"]
    yield "fp8_attention", (*codes, *(torch.rand(1, 2) for _ in "qkv"))
    yield "quantize_fp8_blocks", (x,)
    yield "fp8_gemm", (q, s, wq, ws)
    a, b = (torch.randint(-128, 128, (n, 24), dtype=torch.int8) for n in (4, 8))
    yield "int8_gemm", (a, torch.rand(4), b, torch.rand(8))
    w1, w2 = (randn(*shape, grad=False).to(torch.float8_e4m3fn) for shape in ((24, 256), (256, 12)))
    yield "fp8_ffn", (q, s, w1, torch.ones(1, 2), w2, torch.ones(2, 1))
    scale = (w.abs().max() / 2688).reshape(1)
    q, s = ridge.quantize_nvfp4(w, scale)
    yield "quantize_nvfp4", (w, scale)
    yield "quantize_mxfp4", (w,)
    yield "quantize_mxfp8", (w,)
    yield "quantize_mxfp8", (w, "e5m2")
    yield "nvfp4_gemm", (x, q, s, scale)
    yield "nvfp4_scaled_gemm", (*ridge.quantize_nvfp4(x, scale), scale, q, s, scale)
    values, codes = ridge.prune_2_4(x)
    yield "prune_2_4", (x,)
    yield "structured_sparsity", (values, codes, w)
    a, b, one = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn), torch.ones(1)
    yield "fp8_structured_sparsity", (*ridge.prune_2_4(a), one, b, one)
    w1, w2 = randn(64, 256, grad=False), randn(256, 32, grad=False)
    yield "structured_sparsity_ffn", (x, *ridge.prune_2_4(w1), *ridge.prune_2_4(w2))
    x, w1, w2, dy = (randn(*shape, grad=False) for shape in ((5, 8), (12, 8), (8, 6), (5, 8)))
    yield "rms_norm_backward", (randn(5, 8, grad=False), randn(8, grad=False), randn(5, 8, grad=False))
    yield "layer_norm_backward", (randn(5, 8, grad=False), randn(8, grad=False), *(randn(5, 8, grad=False) for _ in range(2)))
    yield "swiglu_ffn_backward", (x, w1, w2, x @ w1.mT, dy)


def as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def to_double(arguments):
    """The same in fp64, as leaves of their own."""
    is_real = [isinstance(a, torch.Tensor) and a.is_floating_point() for a in arguments]
    return tuple(a.detach().double().requires_grad_(a.requires_grad) if r else a for a, r in zip(arguments, is_real))


def leaves(arguments):
    return [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]


# ---- the operations --------------------------------------------------------------------------------------------------
@unittest.skipUnless(torch, NO_TORCH)
class Operations(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def each(self, check):
        """Calls check(op, arguments, reference) for each sample."""
        for i, (name, arguments, reference) in enumerate(samples()):
            with self.subTest(name, sample=i):
                check(getattr(torch.ops.ridge, name), arguments, reference)

    def test_every_operation_of_the_binding_has_the_same_arguments(self):
        names = {name for name in ridge.__all__ if name not in ("apply", "targets", "Context", "Error")}
        self.assertEqual(names, set(ridge.torch.REGISTERED))
        self.assertEqual(names, {name for name, *_ in [*samples(), *samples_without_gradient()]})
        for name in names:
            schema = getattr(torch.ops.ridge, name).default._schema
            parameters = list(inspect.signature(getattr(ridge, name)).parameters.values())[:-1]  # without how
            self.assertEqual([a.name for a in schema.arguments], [p.name for p in parameters], name)
            for argument, parameter in zip(schema.arguments, parameters):
                default = parameter.default
                self.assertEqual(argument.has_default_value(), default is not parameter.empty, (name, argument.name))
                if argument.has_default_value():
                    given = argument.default_value
                    self.assertEqual(tuple(given) if isinstance(given, list) else given, default, (name, argument.name))

    def test_opcheck(self):
        parts = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
        for name, arguments in [*[s[:2] for s in samples()], *samples_without_gradient()]:
            has_fp8 = any(getattr(a, "dtype", None) == torch.float8_e4m3fn for a in arguments)
            with self.subTest(name):  # test_schema compares inputs before and after; PyTorch cannot, of fp8
                op = getattr(torch.ops.ridge, name).default
                torch.library.opcheck(op, arguments, test_utils=parts[1:] if has_fp8 else parts)

    def answers_and_gradients(self, op, arguments, reference):
        wide = to_double(arguments)
        got, want = as_tuple(op(*arguments)), as_tuple(reference(*wide))
        torch.testing.assert_close(got, want, check_dtype=False, atol=1e-5, rtol=1e-5)
        upstream = [torch.randn_like(w) if w.requires_grad else None for w in want]
        some = [i for i, d in enumerate(upstream) if d is not None]
        self.assertEqual([g.requires_grad for g in got], [w.requires_grad for w in want])
        want = torch.autograd.grad([want[i] for i in some], leaves(wide), [upstream[i] for i in some])
        got = torch.autograd.grad([got[i] for i in some], leaves(arguments), [upstream[i].float() for i in some])
        torch.testing.assert_close(got, want, check_dtype=False, atol=1e-4, rtol=1e-4)

    def test_answers_and_gradients_are_those_of_fp64(self):
        self.each(self.answers_and_gradients)

    def finite_differences(self, op, arguments, _):
        if "relu" in arguments:  # finite differences know no kink
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Input #.* requires gradient and is not a double")
            torch.autograd.gradcheck(op, arguments, eps=1e-2, atol=1e-2, rtol=1e-2, fast_mode=True)

    def test_gradcheck(self):
        self.each(self.finite_differences)

    def whole_graph(self, op, arguments, _):
        torch._dynamo.reset()
        compiled = torch.compile(lambda first, *rest: op(first * 2, *rest), fullgraph=True, backend="aot_eager")
        got, want = as_tuple(compiled(*arguments)), as_tuple(op(arguments[0] * 2, *arguments[1:]))
        torch.testing.assert_close(got, want)
        sums = [sum(o.square().sum() for o in outputs if o.requires_grad) for outputs in (got, want)]
        torch.testing.assert_close(*[torch.autograd.grad(s, leaves(arguments)) for s in sums])

    def test_a_whole_graph_is_compiled(self):
        self.each(self.whole_graph)

    def test_what_a_row_does_not_see_has_no_gradient(self):
        x = randn(6, 9)
        got, want = ridge.torch.scaled_softmax(x, 0.7, 3, True), softmax(x, 0.7, 3, True)
        torch.testing.assert_close(got, want)  # -inf among them
        dy = torch.randn(6, 9)
        torch.testing.assert_close(*[torch.autograd.grad(y, x, dy) for y in (got, want)])

    def test_calls_of_several_threads(self):
        x, gamma = randn(64, 256), randn(256)
        want = rms_norm(x, gamma)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for got in pool.map(lambda _: ridge.torch.rms_norm(x, gamma), range(64)):
                torch.testing.assert_close(got, want)

    def test_low_precision_keeps_its_type(self):
        x, gamma = torch.randn(4, 64, dtype=torch.bfloat16, requires_grad=True), torch.ones(64, requires_grad=True)
        y = ridge.torch.rms_norm(x, gamma)
        y.float().square().sum().backward()
        self.assertEqual((y.dtype, x.grad.dtype, gamma.grad.dtype), (torch.bfloat16, torch.bfloat16, torch.float32))
        torch.testing.assert_close(y.float(), rms_norm(x.float(), gamma), atol=2e-2, rtol=1e-2)

    def test_upstream_gradients_need_not_be_dense(self):
        q, k, v = randn(1, 2, 3, 8), randn(1, 2, 3, 8), randn(1, 2, 3, 8)
        ridge.torch.attention(q, k, v)[0].sum().backward()  # an expanded 1
        torch.testing.assert_close(v.grad.sum(), torch.tensor(48.0))

    def test_a_gradient_that_is_not_there_is_refused(self):
        x = randn(4, 256)
        _, scales = ridge.torch.quantize_fp8_blocks(x)
        with self.assertRaisesRegex(NotImplementedError, "ridge::quantize_fp8_blocks has no gradient"):
            scales.sum().backward()
        q, slope = randn(1, 2, 3, 8), randn(2)
        out, _ = ridge.torch.attention(q, q, q, slope=slope)
        with self.assertRaisesRegex(NotImplementedError, "no gradient with respect to slope"):
            out.sum().backward()

    def test_faults_are_said_in_words(self):
        with self.assertRaisesRegex(ridge.Error, "rms_norm"):
            ridge.torch.rms_norm(randn(2, 4), randn(5))
        with self.assertRaisesRegex(ridge.Error, "activation is 'tanh'"):
            ridge.torch.rms_norm(randn(2, 4), randn(4), 1e-5, "tanh")


# ---- the modules -----------------------------------------------------------------------------------------------------
@unittest.skipUnless(torch, NO_TORCH)
class Modules(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(6)

    def same(self, ours, theirs, *inputs):
        """Answers, gradients of inputs and of parameters, with theirs's parameters."""
        ours.load_state_dict(theirs.state_dict())
        found = []
        for module in (ours, theirs):
            given = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
            y = module(*given)
            y.square().sum().backward()
            found.append([y, *[x.grad for x in given if x.is_floating_point()], *[p.grad for p in module.parameters()]])
        torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4, equal_nan=True)

    def test_norms(self):
        shapes = [((5, 12), 12), ((2, 3, 4), (3, 4)), ((12,), 12), ((0, 12), 12), ((3, 0), 0), ((2, 3, 4), (2, 3, 4))]
        for name in ("RMSNorm", "LayerNorm"):
            for shape, normalized in shapes:
                for how in ({}, {"elementwise_affine": False}, {"eps": 1e-2}):
                    with self.subTest(name, shape=shape, normalized=normalized, **how):
                        kinds = getattr(ridge.torch, name), getattr(torch.nn, name)
                        self.same(*[kind(normalized, **how) for kind in kinds], torch.randn(shape))
        self.same(ridge.torch.LayerNorm(12, bias=False), torch.nn.LayerNorm(12, bias=False), torch.randn(5, 12))

    def test_the_eps_that_is_not_given(self):
        for dtype in (torch.float32, torch.bfloat16):
            x = (1e-4 * torch.randn(4, 64)).to(dtype)
            theirs = torch.nn.RMSNorm(64, dtype=dtype)(x)
            torch.testing.assert_close(ridge.torch.RMSNorm(64, dtype=dtype)(x), theirs)

    def test_shapes_of_no_norm_are_refused_as_pytorch_does(self):
        for kind in (ridge.torch.RMSNorm, ridge.torch.LayerNorm):
            with self.assertRaisesRegex(RuntimeError, "normalized_shape"):
                kind(12)(torch.randn(5, 11))

    def test_fused_add(self):
        x, residual, norm = torch.randn(3, 4, 16), torch.randn(3, 4, 16), ridge.torch.FusedAddRMSNorm(16)
        y, total = norm(x, residual)
        torch.testing.assert_close((y, total), (F.rms_norm(x + residual, (16,)), x + residual))
        self.assertEqual([t.shape for t in norm(x[:0], residual[:0])], [(0, 4, 16)] * 2)

    def test_attention(self):
        q = torch.randn(2, 4, 6, 8)
        y = ridge.torch.Attention(causal=True)(q, q, q)
        torch.testing.assert_close(y, F.scaled_dot_product_attention(q, q, q, is_causal=True))

    @unittest.skipUnless(hasattr(getattr(torch, "nn", None), "LinearCrossEntropyLoss"), "PyTorch has no such loss")
    def test_linear_cross_entropy_loss(self):
        labels = torch.tensor([0, 4, -100, 2])
        how = [{}, {"bias": True}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}]
        how += [{"ignore_index": 2}, {"weight": torch.rand(5)}]
        for one in how:
            with self.subTest(**one):
                kinds = ridge.torch.LinearCrossEntropyLoss, torch.nn.LinearCrossEntropyLoss
                target = labels if "ignore_index" not in one else labels.clamp(0)
                self.same(*[kind(8, 5, **one) for kind in kinds], torch.randn(4, 8), target)
                self.same(*[kind(8, 5, **one) for kind in kinds], torch.randn(8), torch.tensor(3))
        ours = ridge.torch.LinearCrossEntropyLoss(8, 5)
        self.assertTrue(ours(torch.randn(2, 8), torch.tensor([-100, -100])).isnan())  # the mean of none
        self.assertTrue(ours(torch.randn(2, 8), torch.tensor([1, 5])).isnan())  # no such class

    def test_copies(self):
        for module in (ridge.torch.RMSNorm(12), ridge.torch.Attention(causal=True), ridge.torch.LayerNorm(12)):
            x = [torch.randn(1, 2, 3, 12)] * (3 if isinstance(module, ridge.torch.Attention) else 1)
            module(*x)
            for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
                torch.testing.assert_close(other(*x), module(*x))

    def test_compiled(self):
        module = torch.nn.Sequential(ridge.torch.LayerNorm(16), torch.nn.Linear(16, 16), ridge.torch.RMSNorm(16))
        x = torch.randn(4, 16)
        torch.testing.assert_close(torch.compile(module, fullgraph=True, backend="aot_eager")(x), module(x))


if __name__ == "__main__":
    sys.exit(not tap.run(tap.tests_of([sys.modules[__name__], test_gpt])))
