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
import test_again  # noqa: E402
import test_autocast  # noqa: E402
import test_eager  # noqa: E402
import test_gpt  # noqa: E402

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
else:
    import ridge.torch
    from torch_samples import as_tuple, leaves, randn, rms_norm, samples, samples_without_gradient, softmax, to_double

NO_TORCH = "PyTorch is not installed"


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

    def test_a_norm_of_eps_has_the_gradient_of_pytorch(self):
        x, at_limit = torch.tensor([[3.0, 4.0]], requires_grad=True), torch.tensor(5.0, requires_grad=True)
        # Where the norm is eps, versions before 2.15 have the gradient of larger norms.
        (beyond,) = torch.autograd.grad(at_limit.clamp_min(5.0), at_limit)
        for eps in (4.5, 5.5) if beyond else (4.5, 5.0, 5.5):
            results = [norm(x, eps=eps) for norm in (ridge.torch.l2_norm, F.normalize)]
            torch.testing.assert_close(*[torch.autograd.grad(y[0, 0], x)[0] for y in results])

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

    def test_gradients_of_a_sum_lie_apart(self):
        x, residual = (torch.randn(3, 12, requires_grad=True) for _ in range(2))
        ridge.torch.FusedAddRMSNorm(12)(x, residual)[0].square().sum().backward()
        torch.testing.assert_close(x.grad, residual.grad)
        self.assertNotEqual(x.grad.data_ptr(), residual.grad.data_ptr())

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
    sys.exit(not tap.run(tap.tests_of([sys.modules[__name__], test_again, test_autocast, test_eager, test_gpt])))
