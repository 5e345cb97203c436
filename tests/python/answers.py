"""What operations answer, for tests of calls on any kind of tensor: Calls of test_calls.py."""
import itertools
import math
import random

import ridge


def indices(shape):
    return list(itertools.product(*map(range, shape)))


class Answers:
    def setUp(self):
        self.context, self.random = ridge.Context(1), random.Random(3)

    def narrow(self):
        """The type of products that a GPU makes in 16 bits alone, and a CPU in float32."""
        return "bfloat16" if str(getattr(self.kind, "device", "cpu")).startswith("cuda") else "float32"

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

    def values(self, tensor):
        return [self.kind.read(tensor, index) for index in indices(tensor.shape)]

    def test_labels_may_be_of_either_integer_type(self):
        rows, classes = 40, 7
        (x, _), (w, _), (b, _), (share, _) = (self.filled(s) for s in [(rows, 9), (classes, 9), (classes,), (rows,)])
        numbers = {(i,): [-100, -(2**31), 2**31 - 1, classes][i] if i < 4 else i % classes for i in range(rows)}
        answers = []
        for dtype in ("int32", "int64"):
            labels = self.kind.empty((rows,), dtype=dtype)
            self.kind.fill(labels, numbers)
            loss, lse = ridge.linear_cross_entropy(x, w, b, labels)
            outputs = loss, lse, *ridge.linear_cross_entropy_backward(x, w, b, labels, lse, share)
            outputs += ridge.linear_cross_entropy_grad(x, w, b, labels, share)
            answers.append([self.values(output) for output in outputs])
        self.assertEqual(*answers)
        self.assertEqual(answers[0][0][:4], [0] * 4)
        self.assertTrue(all(loss > 0 for loss in answers[0][0][4:]))

    def test_labels_beyond_32_bits_are_no_class(self):
        (x, _), (w, _), (b, _) = (self.filled(s) for s in [(3, 9), (7, 9), (7,)])
        labels = self.kind.empty((3,), dtype="int64")
        self.kind.fill(labels, {(0,): 2**32 + 1, (1,): -(2**40), (2,): 1})
        losses = self.values(ridge.linear_cross_entropy(x, w, b, labels)[0])
        self.assertEqual(losses[:2], [0, 0])
        self.assertGreater(losses[2], 0)

    def test_row_wise_operations_take_any_rank(self):
        n = 37
        gamma, beta = self.filled((n,))[0], self.filled((n,))[0]
        folded = [((n,), None), ((2, 3, n), None), ((2, 1, 3, n), None), ((2, 3, n), (3 * (n + 5), n + 5, 1))]
        for target, more in [("online_softmax", []), ("fused_l2norm", []), ("norm_activation", [gamma, beta]),
                             ("norm_activation_rms", [gamma]), ("layer_norm", [gamma, beta]), ("rms_norm", [gamma]),
                             ("l2_norm", []), ("scaled_softmax", [])]:  # fmt: skip
            for shape, strides in folded:
                x, values = self.filled(shape, strides)
                flat, y, wanted = (self.kind.empty(s) for s in [(len(values) // n, n), shape, (len(values) // n, n)])
                self.kind.fill(flat, dict(zip(indices(flat.shape), values.values())))
                for _ in range(2):
                    self.context.apply(target, [x, *more], [y])
                    self.context.apply(target, [flat, *more], [wanted])
                    # Bits depend on the alignment of rows, which strides change.
                    if strides is None:
                        self.assertEqual(self.values(y), self.values(wanted))
                    for got, want in zip(self.values(y), self.values(wanted)):
                        self.assertLess(abs(got - want), 2e-6)

    def test_norms_and_softmaxes_by_name(self):
        n = 29
        (x, of_x), (r, of_r), (gamma, of_gamma) = (self.filled(s) for s in [(2, 3, n), (2, 3, n), (n,)])
        y, total = ridge.add_rms_norm(x, r, gamma, eps=0.25, activation="silu")
        for i, j in itertools.product(range(2), range(3)):
            row = [of_x[i, j, k] + of_r[i, j, k] for k in range(n)]
            root = math.sqrt(sum(v * v for v in row) / n + 0.25)
            for k, v in enumerate(row):
                h = v / root * of_gamma[k,]
                self.assertAlmostEqual(self.kind.read(total, (i, j, k)), v, delta=1e-6)
                self.assertAlmostEqual(self.kind.read(y, (i, j, k)), h / (1 + math.exp(-h)), delta=1e-5)
        self.assertEqual(self.values(ridge.rms_norm(total, gamma, 0.25, "silu")), self.values(y))
        with self.assertRaisesRegex(ridge.Error, "activation is 'swish'; it is one of none, gelu"):
            ridge.rms_norm(x, gamma, activation="swish")
        masked = ridge.masked_softmax(x, r, scale=2)
        for i, j in itertools.product(range(2), range(3)):
            powers = [math.exp(2 * of_x[i, j, k] + of_r[i, j, k]) for k in range(n)]
            for k, p in enumerate(powers):
                self.assertAlmostEqual(self.kind.read(masked, (i, j, k)), p / sum(powers), delta=1e-6)
        logs = ridge.scaled_softmax(x, causal=3, log=True)
        self.assertEqual(self.kind.read(logs, (1, 0, n - 1)), -math.inf)
        self.assertLess(self.kind.read(logs, (1, 2, n - 1)), 0)

    def test_terms_of_a_product_may_be_absent(self):
        m, n, k = 3, 5, 4
        (a, of_a), (b, of_b), (c, of_c), (bias, of_bias) = (self.filled(s) for s in [(m, k), (k, n), (m, n), (n,)])
        for _ in range(2):  # the second call is the first one, kept
            d = ridge.gemm_epilogue(a, b, c, bias, alpha=2, beta=-1, activation="relu_squared")
            plain = ridge.gemm_epilogue(a, b, row_bias=None, activation="silu")
            for i, j in itertools.product(range(m), range(n)):
                v = sum(of_a[i, e] * of_b[e, j] for e in range(k))
                self.assertAlmostEqual(self.kind.read(plain, (i, j)), v / (1 + math.exp(-v)), delta=1e-5)
                h = max(2 * v - of_c[i, j] + of_bias[j,], 0)
                self.assertAlmostEqual(self.kind.read(d, (i, j)), h * h, delta=1e-4)
        with self.assertRaisesRegex(ridge.Error, "activation is 'swish'; it is one of none, gelu"):
            ridge.gemm_epilogue(a, b, activation="swish")
        with self.assertRaisesRegex(ridge.Error, "bias"):
            ridge.gemm_epilogue(a, b, bias=self.filled((m,))[0])

    def test_linear_norm_activation(self):
        m, n, k = 2, 6, 4
        (x, of_x), (w, of_w), (b, of_b) = (self.filled(s) for s in [(m, k), (k, n), (n,)])
        (gamma, of_gamma), (beta, of_beta) = self.filled((n,)), self.filled((n,))
        y = ridge.linear_norm_activation(x, w, b, gamma, beta)
        for i in range(m):
            h = [sum(of_x[i, e] * of_w[e, j] for e in range(k)) + of_b[j,] for j in range(n)]
            mean = sum(h) / n
            deviation = math.sqrt(sum((v - mean) ** 2 for v in h) / n + 1e-5)
            for j in range(n):
                v = (h[j] - mean) / deviation * of_gamma[j,] + of_beta[j,]
                want = v * (1 + math.erf(v / math.sqrt(2))) / 2
                self.assertAlmostEqual(self.kind.read(y, (i, j)), want, delta=1e-4)

    def test_products_side_by_side(self):
        (a, of_a), (b, of_b) = self.filled((2, 3, 4)), self.filled((2, 4, 5))
        c = ridge.batched_gemm(a, b, alpha=-1)
        for i, j, k in itertools.product(range(2), range(3), range(5)):
            want = -sum(of_a[i, j, e] * of_b[i, e, k] for e in range(4))
            self.assertAlmostEqual(self.kind.read(c, (i, j, k)), want, delta=1e-5)

    def test_quantizers(self):
        """Codes and scales of powers of two are known; what kernels make of others is for tests/unit/test_quantize.c."""
        x = self.kind.empty((2, 3, 144))
        values = {index: (-1) ** index[2] * 2.0 ** (-index[0]) for index in indices((2, 3, 144))}
        self.kind.fill(x, values)
        q, s = ridge.quantize_fp8_blocks(x)
        self.assertEqual((tuple(q.shape), tuple(s.shape)), ((2, 3, 144), (2, 3, 2)))
        for index, value in values.items():
            code = self.kind.read_byte(q, index)
            self.assertEqual(code, 0x7E if value > 0 else 0xFE)  # 448, what the largest of a block becomes
        for i, k in itertools.product(range(2), range(2)):
            self.assertAlmostEqual(self.kind.read(s, (i, 0, k)), 2.0 ** (-i) / 448, delta=1e-9)
        scale = self.kind.empty((1,))
        self.kind.fill(scale, {(0,): 1 / 6})
        q, s = ridge.quantize_nvfp4(x, scale)
        self.assertEqual((tuple(q.shape), tuple(s.shape)), ((2, 3, 72), (1, 1536)))
        self.assertEqual({self.kind.read_byte(q, index) for index in indices((2, 3, 72))}, {0xF7})  # 6 and -6
        of_row = [self.kind.read_byte(s, (0, 16 * row)) for row in range(7)]
        self.assertEqual(of_row, [0x38] * 3 + [0x30] * 3 + [0])  # 1, a half, and the padding

    def test_quantizers_to_powers_of_two(self):
        """Of 2^-i: the largest value of e2m1, 6, has the exponent 2, that of e4m3 8, that of e5m2 15."""
        x = self.kind.empty((2, 3, 96))
        self.kind.fill(x, {index: (-1) ** index[2] * 2.0 ** (-index[0]) for index in indices((2, 3, 96))})
        for top, codes, (q, s) in (
            (8, {0x78, 0xF8}, ridge.quantize_mxfp8(x)),
            (15, {0x78, 0xF8}, ridge.quantize_mxfp8(x, "e5m2")),
            (2, {0xE6}, ridge.quantize_mxfp4(x)),
        ):
            of_row = 48 if top == 2 else 96
            self.assertEqual((tuple(q.shape), tuple(s.shape)), ((2, 3, of_row), (1, 512)))
            self.assertEqual({self.kind.read_byte(q, index) for index in indices((2, 3, of_row))}, codes)
            scales = [self.kind.read_byte(s, (0, 16 * row)) for row in range(7)]
            self.assertEqual(scales, [127 - top] * 3 + [126 - top] * 3 + [0])
        with self.assertRaisesRegex(ValueError, "element"):
            ridge.quantize_mxfp8(x, "e2m1")

    def test_sparse_products(self):
        """Of each four columns the largest two count; a row whose codes are not of a pattern is NaN."""
        x, b = self.kind.empty((2, 64), dtype=self.narrow()), self.kind.empty((3, 64), dtype=self.narrow())
        self.kind.fill(x, {(i, k): (-1.0) ** k * (1 + (k + i) % 4) for i, k in indices((2, 64))})
        self.kind.fill(b, {(j, k): 1.0 + j * (k % 4) for j, k in indices((3, 64))})
        values, codes = ridge.prune_2_4(x)
        self.assertEqual((tuple(values.shape), tuple(codes.shape)), ((2, 32), (2, 2)))
        c = ridge.structured_sparsity(values, codes, b)
        for i, j in indices((2, 3)):
            four = sorted(range(4), key=lambda k: -((k + i) % 4))[:2]
            want = 16 * sum((-1.0) ** k * (1 + (k + i) % 4) * (1 + j * k) for k in four)
            self.assertAlmostEqual(self.kind.read(c, (i, j)), want, delta=0.01 * abs(want) + 1e-4)
        self.kind.fill(codes, {index: 0 if index == (1, 0) else 0x44444444 for index in indices((2, 2))})
        c = ridge.structured_sparsity(values, codes, b)
        self.assertTrue(math.isnan(self.kind.read(c, (1, 2))) and not math.isnan(self.kind.read(c, (0, 2))))

    def test_sparse_products_in_fp8(self):
        """Of powers of two times 448, which codes have exactly; a row whose codes are not of a pattern is NaN."""
        x, b = self.kind.empty((2, 256)), self.kind.empty((3, 256))
        scales = [self.kind.empty((1,)) for _ in "ab"]
        fours = (448.0, -224.0, 1.0, 0.5), (0.0, 0.0, 448.0, -224.0)
        self.kind.fill(x, {(i, k): fours[i][k % 4] for i, k in indices((2, 256))})
        self.kind.fill(b, {(j, k): 448.0 / 2.0 ** (k % 4) for j, k in indices((3, 256))})
        for scale, value in zip(scales, (2.0**-8, 2.0**-6)):
            self.kind.fill(scale, {(0,): value})
        values, codes = ridge.prune_2_4(x)
        (a, _), (b, _) = map(ridge.quantize_fp8_blocks, (values, b))
        c = ridge.fp8_structured_sparsity(a, codes, scales[0], b, scales[1])
        for i, j in indices((2, 3)):
            want = 64 * (448.0**2 - 224.0**2) * 2.0**-14 / (1, 4)[i]
            self.assertAlmostEqual(self.kind.read(c, (i, j)), want, delta=1e-2)
        self.kind.fill(codes, {(i, w): 0x44444444 if w else 0 for i, w in indices((2, 8))})
        self.assertTrue(math.isnan(self.kind.read(ridge.fp8_structured_sparsity(a, codes, scales[0], b, scales[1]), (1, 2))))

    def test_feed_forward_of_sparse_weights(self):
        """Of weights that have two of each four columns alone: what swiglu_ffn makes of them as they are."""
        kept = {0: (1, 2), 1: (0, 3), 2: (2, 3)}
        x, w1, w2 = (self.kind.empty(shape, dtype=self.narrow()) for shape in ((3, 32), (64, 32), (32, 32)))
        self.kind.fill(x, {(i, k): 0.25 * (1 + (i + k) % 3) for i, k in indices((3, 32))})
        for w, rows in ((w1, 64), (w2, 32)):
            values = {(j, k): (-1.0) ** k * (1 + (j + k // 4) % 2) for j, k in indices((rows, 32))}
            self.kind.fill(w, {(j, k): v if k % 4 in kept[j % 3] else 0.0 for (j, k), v in values.items()})
        y = ridge.structured_sparsity_ffn(x, *ridge.prune_2_4(w1), *ridge.prune_2_4(w2))
        dense = ridge.swiglu_ffn(x, w1, w2)
        for at in indices((3, 32)):
            self.assertAlmostEqual(self.kind.read(y, at), self.kind.read(dense, at), delta=0.02 * abs(self.kind.read(dense, at)) + 0.02)

    def test_products_of_four_bits(self):
        """Of weights that NVFP4 has exactly, once scaled: rows of 6 and -6 times powers of two."""
        x, w = self.kind.empty((3, 64), dtype=self.narrow()), self.kind.empty((5, 64))
        scale = self.kind.empty((1,))
        self.kind.fill(x, {(i, k): 1.0 + i * (k % 2) for i, k in indices((3, 64))})
        self.kind.fill(w, {(j, k): 6.0 * (-1) ** k * 2.0**-j for j, k in indices((5, 64))})
        self.kind.fill(scale, {(0,): 0.25})
        q, s = ridge.quantize_nvfp4(w, scale)
        c = ridge.nvfp4_gemm(x, q, s, scale)
        for i, j in indices((3, 5)):
            want = -32 * i * 6.0 * 2.0**-j
            self.assertAlmostEqual(self.kind.read(c, (i, j)), want, delta=0.01 * abs(want) + 1e-3)

    def test_products_of_four_bits_on_both_sides(self):
        """Of more rows than a tile of scales has; 6 and -6 times powers of two are exact, once scaled."""
        a, b, scales = self.kind.empty((130, 64)), self.kind.empty((5, 64)), []
        self.kind.fill(a, {(i, k): 6.0 * (1 + k % 2) * 2.0 ** -(i % 4) for i, k in indices((130, 64))})
        self.kind.fill(b, {(j, k): 6.0 * (-1) ** k * 2.0**-j for j, k in indices((5, 64))})
        for value in (0.25, 0.5):
            scales.append(self.kind.empty((1,)))
            self.kind.fill(scales[-1], {(0,): value})
        (qa, sa), (qb, sb) = ridge.quantize_nvfp4(a, scales[0]), ridge.quantize_nvfp4(b, scales[1])
        c = ridge.nvfp4_scaled_gemm(qa, sa, scales[0], qb, sb, scales[1])
        for i, j in indices((130, 5)):
            want = -32 * 36 * 2.0 ** -(i % 4) * 2.0**-j
            self.assertAlmostEqual(self.kind.read(c, (i, j)), want, delta=0.01 * abs(want))

    def test_quantized_products(self):
        """Of powers of two, whose codes and scales are exact but for the scales' own rounding."""
        a, b = self.kind.empty((3, 256)), self.kind.empty((5, 256))
        self.kind.fill(a, {(i, k): 2.0 ** (i - k // 128) for i, k in indices((3, 256))})
        self.kind.fill(b, {(j, k): 1.0 if k < 128 else -2.0 * j for j, k in indices((5, 256))})
        (qa, sa), (qb, sb) = ridge.quantize_fp8_blocks(a), ridge.quantize_fp8_blocks(b)
        c = ridge.fp8_gemm(qa, sa, qb, sb)
        for i, j in indices((3, 5)):
            self.assertAlmostEqual(self.kind.read(c, (i, j)), 128 * 2.0**i * (1 - j), delta=1e-2)

    def test_products_of_integers(self):
        """The ends of the range, whose sums are beyond 16 bits; scales of rows and of columns."""
        a, b = self.kind.empty((2, 200), dtype="int8"), self.kind.empty((3, 200), dtype="int8")
        self.kind.fill(a, {(i, k): -128 if i else k % 5 - 2 for i, k in indices((2, 200))})
        self.kind.fill(b, {(j, k): (127, -128, k % 3)[j] for j, k in indices((3, 200))})
        left, right = self.kind.empty((2,)), self.kind.empty((3,))
        self.kind.fill(left, {(0,): 2.0, (1,): 0.5})
        self.kind.fill(right, {(0,): 1.0, (1,): 0.25, (2,): -4.0})
        c = ridge.int8_gemm(a, left, b, right)
        for i, j in indices((2, 3)):
            total = sum(self.kind.read(a, (i, k)) * self.kind.read(b, (j, k)) for k in range(200))
            self.assertEqual(self.kind.read(c, (i, j)), total * (2.0, 0.5)[i] * (1.0, 0.25, -4.0)[j])
        with self.assertRaisesRegex(ridge.Error, "a is of type"):
            ridge.int8_gemm(self.kind.empty((2, 200), dtype="uint8"), left, b, right)

    def test_attention_in_fp8(self):
        """A query sees two keys alike, whose values are averaged: 448 and -224, times the scale of their head."""
        q, k, v = self.kind.empty((2, 3, 1, 128)), self.kind.empty((2, 1, 2, 128)), self.kind.empty((2, 1, 2, 128))
        self.kind.fill(q, {index: 1.0 for index in indices((2, 3, 1, 128))})
        self.kind.fill(k, {index: 2.0 for index in indices((2, 1, 2, 128))})
        self.kind.fill(v, {index: 1.0 if index[3] % 2 == 0 else -0.5 for index in indices((2, 1, 2, 128))})
        (q, _), (k, _), (v, _) = map(ridge.quantize_fp8_blocks, (q, k, v))
        scales = [self.kind.empty((2, heads)) for heads in (3, 1, 1)]
        for t, heads in zip(scales, (3, 1, 1)):
            self.kind.fill(t, {(i, j): 2.0 ** (i + j) / 448 for i, j in indices((2, heads))})
        out, lse = ridge.fp8_attention(q, k, v, *scales, scale=1.0)
        self.assertEqual((tuple(out.shape), tuple(lse.shape)), ((2, 3, 1, 128), (2, 3, 1)))
        for i, j, _, e in indices((2, 3, 1, 128)):
            want = 2.0**i * (1.0 if e % 2 == 0 else -0.5)
            self.assertAlmostEqual(self.kind.read(out, (i, j, 0, e)), want, delta=0.01)
        for i, j, _ in indices((2, 3, 1)):
            want = 128 * 4.0**i * 2.0**j + math.log(2)
            self.assertAlmostEqual(self.kind.read(lse, (i, j, 0)), want, delta=1e-4 * want)

    def test_feed_forward_in_fp8(self):
        """Of ones: gates and ups are 1, hidden values silu(1), the largest of their blocks, which codes have exactly."""
        x, w1, w2 = (self.kind.empty(shape) for shape in ((2, 256), (256, 256), (256, 128)))
        for t, shape in ((x, (2, 256)), (w1, (256, 256)), (w2, (256, 128))):
            self.kind.fill(t, {index: 1.0 / 16 if t is not w2 else 1.0 for index in indices(shape)})
        (qx, sx), (q1, _), (q2, _) = map(ridge.quantize_fp8_blocks, (x, w1, w2))
        s1, s2 = self.kind.empty((2, 2)), self.kind.empty((2, 1))
        self.kind.fill(s1, {index: 1.0 / 16 / 448 for index in indices((2, 2))})
        self.kind.fill(s2, {index: 1.0 / 448 for index in indices((2, 1))})
        y = ridge.fp8_ffn(qx, sx, q1, s1, q2, s2)
        whole = [self.kind.empty((1, 1)) for _ in range(3)]
        for t, scale in zip(whole, (1 / 448 / 16, 1 / 16 / 448, 1 / 448), strict=True):
            self.kind.fill(t, {(0, 0): scale})
        y_of_whole = ridge.fp8_ffn(qx, whole[0], q1, whole[1], q2, whole[2])
        for index in indices((2, 256)):
            self.assertAlmostEqual(self.kind.read(y, index), 128 / (1 + math.exp(-1)), delta=1e-2)
            self.assertAlmostEqual(self.kind.read(y_of_whole, index), 128 / (1 + math.exp(-1)), delta=1e-2)

    def test_named_operations(self):
        (x, w, b), logits = self.operands(6, 9, 4)
        self.check(ridge.linear_softmax(x, w, b), logits)
        (w, _), labels = self.filled((4, 9)), self.kind.empty((6,), dtype="int32")
        self.kind.fill(labels, {(i,): i % 4 for i in range(6)})
        loss, lse = ridge.linear_cross_entropy(x, w, b, labels)
        share, _ = self.filled((6,))
        gradients = ridge.linear_cross_entropy_backward(x, w, b, labels, lse, share)
        for a, b in zip(ridge.linear_cross_entropy_grad(x, w, b, labels, share), (loss, lse, *gradients)):
            self.assertEqual(tuple(a.shape), tuple(b.shape))
            for index in indices(a.shape):
                self.assertAlmostEqual(self.kind.read(a, index), self.kind.read(b, index), delta=1e-5)

    def test_products_by_name(self):
        (a, of_a), (b, of_b) = self.filled((5, 7)), self.filled((7, 3), (1, 7))
        c = ridge.gemm(a, b, alpha=-2.0)
        for i, j in indices((5, 3)):
            want = -2 * sum(of_a[i, k] * of_b[k, j] for k in range(7))
            self.assertAlmostEqual(self.kind.read(c, (i, j)), want, delta=1e-5)

    def attention(self, sinks, **how):
        """Two heads of q share one of k and v; rows before heads in the memory of q."""
        narrow = {"dtype": self.narrow()}
        off = 1e-5 if self.narrow() == "float32" else 0.05  # of values that were rounded to 16 bits
        (q, of_q), (k, of_k) = self.filled((1, 2, 5, 4), (40, 4, 8, 1), **narrow), self.filled((1, 1, 6, 4), **narrow)
        (v, of_v), (sink, of_sink) = self.filled((1, 1, 6, 3), **narrow), self.filled((2,))
        out, lse = ridge.attention(q, k, v, causal=True, sink=sink if sinks else None, **how)
        for h, i in indices((2, 5)):
            scores = {j: sum(of_q[0, h, i, d] * of_k[0, 0, j, d] for d in range(4)) / 2 for j in range(i + 2)}
            total = sum(map(math.exp, scores.values())) + (math.exp(of_sink[h,]) if sinks else 0)
            self.assertAlmostEqual(self.kind.read(lse, (0, h, i)), math.log(total), delta=off)
            for d in range(3):
                want = sum(math.exp(s) * of_v[0, 0, j, d] for j, s in scores.items()) / total
                self.assertAlmostEqual(self.kind.read(out, (0, h, i, d)), want, delta=off)

    def test_attention_with_and_without_sinks(self):
        for _ in range(2):
            self.attention(sinks=False)
            self.attention(sinks=True)
