"""Operations by name: each says what its outputs are, runs, and returns them."""
import math

from ._library import Error
from ._outputs import output, run, same


def _dims(array, name, axes):
    """The extents of `array`, an argument called `name` whose axes are called `axes`."""
    shape = getattr(array, "shape", None)
    if shape is None:
        raise Error(f"{name} is of type {type(array).__name__}, not an array")
    if len(shape) != len(axes):
        raise Error(f"{name} has {len(shape)} dimensions, not {len(axes)}: [{', '.join(axes)}]")
    return tuple(shape)


def _rows(x):
    """A float32 output with an element for each row of `x`."""
    return output(x, _dims(x, "x", ("batch", "depth"))[:1], None, "float32")


def _gradients(x, w, b):
    """Outputs for dx, dw and db."""
    axes = {"x": ("batch", "depth"), "w": ("classes", "depth"), "b": ("classes",)}
    return [output(array, _dims(array, name, axes[name])) for name, array in (("x", x), ("w", w), ("b", b))]


def _narrow_on_gpu(array):
    """The name of the result's type where none is asked for, of operands of 8 bits or less."""
    return "bfloat16" if getattr(array, "is_cuda", False) else "float32"


ACTIVATIONS = {"none": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3, "relu": 4}


def _norm(target, x, more, eps, activation, how, outputs=1):
    if activation not in ACTIVATIONS:
        raise Error(f"activation is {activation!r}; it is one of {', '.join(ACTIVATIONS)}")
    return run(target, [x, *more], [same(x)] * outputs, how, [eps, ACTIVATIONS[activation], 0, 0])


def layer_norm(x, gamma, beta, eps=1e-5, activation="none", **how):
    """activation of the layer norm of each row of x [..., cols]; gamma and beta [cols], of x's type or float32."""
    return _norm("layer_norm", x, [gamma, beta], eps, activation, how)


def rms_norm(x, gamma, eps=1e-5, activation="none", **how):
    """activation of x / sqrt(mean(x^2) + eps) gamma, row by row."""
    return _norm("rms_norm", x, [gamma], eps, activation, how)


def l2_norm(x, eps=1e-12, activation="none", **how):
    """activation of x / max(|x|, eps) of each row of x [..., cols], |x| the root of its sum of squares."""
    return _norm("l2_norm", x, [], eps, activation, how)


def l2_norm_backward(x, dy, eps=1e-12, **how):
    """dx of l2_norm without an activation, from its argument and dy."""
    return run("l2_norm_backward", [x, dy], [same(x)], how, [eps])


def _norm_backward(target, x, gamma, dy, dsum, eps, how):
    sums = [output(x, tuple(gamma.shape), None, "float32")] * (2 if target == "layer_norm_backward" else 1)
    return run(target, [x, gamma, dy, dsum], [same(x), *sums], how, [eps])


def layer_norm_backward(x, gamma, dy, dsum=None, eps=1e-5, **how):
    """(dx, dgamma, dbeta) of layer_norm without an activation, from its argument and dy; dgamma and dbeta float32 [cols].

    dsum: what reaches x beside the norm, added to dx."""
    return _norm_backward("layer_norm_backward", x, gamma, dy, dsum, eps, how)


def rms_norm_backward(x, gamma, dy, dsum=None, eps=1e-5, **how):
    """(dx, dgamma) of rms_norm without an activation, from its argument and dy; dgamma float32 [cols].

    dsum: what reaches x beside the norm, added to dx."""
    return _norm_backward("rms_norm_backward", x, gamma, dy, dsum, eps, how)


def add_layer_norm(x, residual, gamma, beta, eps=1e-5, activation="none", **how):
    """(activation of the layer norm of sum, sum = x + residual)."""
    return _norm("add_layer_norm", x, [residual, gamma, beta], eps, activation, how, 2)


def add_rms_norm(x, residual, gamma, eps=1e-5, activation="none", **how):
    """(activation of the RMS norm of sum, sum = x + residual)."""
    return _norm("add_rms_norm", x, [residual, gamma], eps, activation, how, 2)


def scaled_softmax(x, scale=1.0, causal=0, log=False, **how):
    """softmax(scale x) of each row of x [..., cols], or its logarithm.

    causal: rows come in groups of so many; the last of a group sees all columns, each one before it one less.
    """
    return run("scaled_softmax", [x], [same(x)], how, [scale, int(log), causal, 0])


def masked_softmax(x, mask, scale=1.0, log=False, **how):
    """softmax(scale x + mask) of each row, or its logarithm; mask is of x's shape and type."""
    return run("masked_softmax", [x, mask], [same(x)], how, [scale, int(log), 0, 0])


def softmax_backward(y, dy, scale=1.0, log=False, **how):
    """dx of softmax(scale x), or of its logarithm, from its result y and dy."""
    return run("softmax_backward", [y, dy], [same(y)], how, [scale, log])


def quantize_fp8_blocks(x, **how):
    """(q, s) with x about q s: q float8_e4m3fn of x's shape, s float32 with a scale for each 128 columns. NumPy: q are bytes."""
    *rows, cols = x.shape
    q = output(x, (*rows, cols), None, "float8_e4m3fn")
    s = output(x, (*rows, -(-cols // 128)), None, "float32")
    return run("quantize_fp8_blocks", [x], [q, s], how)


def quantize_nvfp4(x, tensor_scale, **how):
    """(q, s) with x about q s tensor_scale: pairs of e2m1 as bytes, and scales of 16 columns each as float8_e4m3fn in tiles.

    tensor_scale: float32 [1] on x's device, amax / 2688 of the tensor. s is [ceil(rows / 128), 512 ceil(cols / 64)].
    """
    *rows, cols = x.shape
    q = output(x, (*rows, cols // 2), None, "uint8")
    s = output(x, (-(-math.prod(rows) // 128), 512 * -(-cols // 64)), None, "float8_e4m3fn")
    return run("quantize_nvfp4", [x, tensor_scale], [q, s], how)


def _quantize_mx(target, x, bytes_of_row, element, how):
    *rows, cols = x.shape
    q = output(x, (*rows, bytes_of_row), None, element)
    s = output(x, (-(-math.prod(rows) // 128), 512 * -(-cols // 128)), None, "float8_e8m0fnu")
    return run(target, [x], [q, s], how)


MX_ELEMENTS = {"e4m3": ("quantize_mxfp8", "float8_e4m3fn"), "e5m2": ("quantize_mxfp8_e5m2", "float8_e5m2")}


def quantize_mxfp8(x, element="e4m3", **how):
    """(q, s) with x about q s: q float8_e4m3fn or float8_e5m2 of x's shape, and a power of two for 32 columns each.

    element: "e4m3" or "e5m2". s is float8_e8m0fnu [ceil(rows / 128), 512 ceil(cols / 128)], in tiles. NumPy: bytes, both.
    """
    if element not in MX_ELEMENTS:
        raise ValueError(f"element is {element!r}; it must be one of {', '.join(MX_ELEMENTS)}")
    target, dtype = MX_ELEMENTS[element]
    return _quantize_mx(target, x, x.shape[-1], dtype, how)


def quantize_mxfp4(x, **how):
    """(q, s) with x about q s: pairs of e2m1 as bytes, and s as quantize_mxfp8 has it."""
    return _quantize_mx("quantize_mxfp4", x, x.shape[-1] // 2, "uint8", how)


def nvfp4_gemm(x, q, s, tensor_scale, **how):
    """c [m, n] = tensor_scale x w^T of x [m, k] and of what quantize_nvfp4 made of w [n, k]."""
    c = output(x, (_dims(x, "x", ("m", "k"))[0], _dims(q, "q", ("n", "k / 2"))[0]))
    return run("nvfp4_gemm", [x, q, s, tensor_scale], [c], how)


def nvfp4_scaled_gemm(a, a_scale, a_tensor_scale, b, b_scale, b_tensor_scale, dtype=None, **how):
    """c [m, n] = a_tensor_scale b_tensor_scale a b^T of what quantize_nvfp4 made of a [m, k] and b [n, k].

    dtype: float32, which None is on a CPU; on a GPU bfloat16, which None is there for PyTorch's tensors, or float16.
    """
    shape = _dims(a, "a", ("m", "k / 2"))[0], _dims(b, "b", ("n", "k / 2"))[0]
    c = output(a, shape, dtype, _narrow_on_gpu(a))
    return run("nvfp4_scaled_gemm", [a, a_scale, a_tensor_scale, b, b_scale, b_tensor_scale], [c], how)


def prune_2_4(x, **how):
    """(values, codes) of 2:4 pruning: the two largest of each four columns, and int32 words of which these are."""
    rows, cols = _dims(x, "x", ("rows", "cols"))
    values, codes = output(x, (rows, cols // 2)), output(x, (rows, cols // 32), None, "int32")
    return run("prune_2_4", [x], [values, codes], how)


def structured_sparsity(a, codes, b, **how):
    """c [m, n] = a b^T of what prune_2_4 made of a [m, k]: a [m, k / 2], codes [m, k / 32]; b [n, k]."""
    c = output(b, (_dims(a, "a", ("m", "k / 2"))[0], _dims(b, "b", ("n", "k"))[0]))
    return run("structured_sparsity", [a, codes, b], [c], how)


def structured_sparsity_ffn(x, w1, w1_codes, w2, w2_codes, **how):
    """swiglu_ffn of what prune_2_4 made of its weights: w1 [2 f, d / 2], w2 [d, f / 2], codes [2 f, d / 32] and [d, f / 32]."""
    return run("structured_sparsity_ffn", [x, w1, w1_codes, w2, w2_codes], [same(x)], how)


def swiglu_ffn(x, w1, w2, **how):
    """(silu(x g^T) (x u^T)) w2^T: x [m, d], w1 [2 f, d] with the rows of g before those of u, w2 [d, f]."""
    return run("swiglu_ffn", [x, w1, w2], [same(x)], how)


def swiglu_ffn_backward(x, w1, w2, gates, dy, **how):
    """dx, dw1 and dw2 of swiglu_ffn from gates = x w1^T [m, 2 f] and the gradient dy [m, d] with respect to its result."""
    return run("swiglu_ffn_backward", [x, w1, w2, gates, dy], [same(x), same(w1), same(w2)], how)


def fp8_ffn(x, x_scale, w1, w1_scale, w2, w2_scale, dtype=None, **how):
    """swiglu_ffn of float8_e4m3fn x, w1 and w2, whose hidden values are quantized, too; dtype: float32, or bfloat16 (GPU).

    Scales: [m, ceil(d / 128)] as quantize_fp8_blocks gives them, and those of squares of 128 of w1 [2 f, d] and w2 [d, f];
    or one for each tensor, all [1, 1].
    """
    y = output(x, tuple(x.shape), dtype, "float32")
    return run("fp8_ffn", [x, x_scale, w1, w1_scale, w2, w2_scale], [y], how)


def fp8_gemm(a, a_scale, b, b_scale, dtype=None, fast=False, **how):
    """c [m, n] = (a_scale a) (b_scale b)^T of float8_e4m3fn a [m, k] and b [n, k]; dtype: float32, or bfloat16.

    Scales: [1, 1], or [m, ceil(k / 128)] as quantize_fp8_blocks gives them, or those of squares of 128. fast: with one scale
    for each tensor, sums may stay in the tensor cores, which keep 13 bits of the largest so far.
    """
    shape = _dims(a, "a", ("m", "k"))[0], _dims(b, "b", ("n", "k"))[0]
    c = output(a, shape, dtype, "float32")
    return run("fp8_gemm", [a, a_scale, b, b_scale], [c], how, [float(fast)])


def int8_gemm(a, a_scale, b, b_scale, dtype=None, **how):
    """c [m, n] = (a_scale a) (b_scale b)^T of int8 a [m, k] and b [n, k], k at most 131071; dtype: float32, or bfloat16.

    a_scale [m] and b_scale [n] are float32. Sums of products are exact.
    """
    shape = _dims(a, "a", ("m", "k"))[0], _dims(b, "b", ("n", "k"))[0]
    return run("int8_gemm", [a, a_scale, b, b_scale], [output(a, shape, dtype, "float32")], how)


def fp8_structured_sparsity(a, codes, a_scale, b, b_scale, dtype=None, **how):
    """c [m, n] = a_scale b_scale a b^T of 2:4 sparse float8_e4m3fn a: [m, k / 2] and codes as prune_2_4 has them; b [n, k].

    Scales: [1], float32. dtype: float32, or bfloat16. On Hopper sums stay in the tensor cores, which keep 13 bits of the largest
    so far.
    """
    c = output(b, (_dims(a, "a", ("m", "k / 2"))[0], _dims(b, "b", ("n", "k"))[0]), dtype, "float32")
    return run("fp8_structured_sparsity", [a, codes, a_scale, b, b_scale], [c], how)


def gemm(a, b, alpha=1.0, dtype=None, **how):
    """alpha a b: a [m, k], b [k, n], each row- or column-major; dtype: of the result, a's or float32."""
    c = output(a, (_dims(a, "a", ("m", "k"))[0], _dims(b, "b", ("k", "n"))[1]), dtype)
    return run("gemm", [a, b], [c], how, [alpha])


def batched_gemm(a, b, alpha=1.0, **how):
    """alpha a[i] b[i] for each i: a [batch, m, k], b [batch, k, n], row-major."""
    batch, m, _ = _dims(a, "a", ("batch", "m", "k"))
    c = output(a, (batch, m, _dims(b, "b", ("batch", "k", "n"))[2]))
    return run("batched_gemm", [a, b], [c], how, [alpha])


def grouped_gemm(a, b, ends, alpha=1.0, **how):
    """alpha a[i] b[g] for each row i of group g: a [m, k], b [groups, k, n], row-major; ends int32 [groups], where groups end."""
    c = output(a, (_dims(a, "a", ("m", "k"))[0], _dims(b, "b", ("groups", "k", "n"))[2]))
    return run("grouped_gemm", [a, b, ends], [c], how, [alpha])


_ROWS_FIRST = {3: (2, 0, 1), 4: (2, 0, 1, 3)}  # by dimensions


def _rows_first(array):
    """A view [rows, batch, heads, …] of [batch, heads, rows, …]."""
    order = _ROWS_FIRST.get(len(array.shape))
    if order is None:
        raise Error(f"an array of [batch, heads, rows, …] has {len(array.shape)} dimensions, not 3 or 4")
    if hasattr(array, "permute"):
        return array.permute(*order)
    try:
        return array.transpose(order)
    except AttributeError as error:
        raise Error(f"an array of type {type(array).__name__} has no views: pass it to ridge.apply as the target takes it") from error


def _all_rows_first(*arrays):
    return list(map(_rows_first, arrays))


def attention(
    q, k, v, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None, **how
):
    """(softmax(scale q k^T) v, the logarithm of each row's sum of exponentials) for each batch and head.

    q [batch, heads, m, d], k [batch, kv_heads, n, d], v [batch, kv_heads, n, dv], in any order of memory but that of the last
    dimension; scale 0: 1 / sqrt(d). Query i sees keys from i + n - m - window[0] to i + n - m + window[1], -1: all;
    causal: none behind i + n - m. sink, slope: float32 [heads], a score more in a row's sum, and ALiBi's slope.
    """
    batch, heads, m, _ = _dims(q, "q", ("batch", "heads", "m", "d"))
    _dims(k, "k", ("batch", "kv_heads", "n", "d"))
    out = output(q, (batch, heads, m, _dims(v, "v", ("batch", "kv_heads", "n", "dv"))[3]))
    lse = output(q, (batch, heads, m), None, "float32")
    inputs = [*_all_rows_first(q, k, v), sink, slope]
    options = [scale, int(causal), *window, softcap, 0, 0, 0]
    return run("attention", inputs, [out, lse], how, options, _all_rows_first)


def _varlen_views(out, lse):
    """Of a batch of one."""
    return [out[:, None], _rows_first(lse[None])]


def attention_varlen(
    q, k, v, q_ends, k_ends, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None, **how
):
    """attention of sequences of different lengths, one behind the other: a query sees keys of its own sequence alone.

    q [m, heads, d], k [n, kv_heads, d], v [n, kv_heads, dv]; q_ends, k_ends int32 [sequences]: sequence s has the queries from
    q_ends[s - 1] to below q_ends[s], and keys likewise. Returns out [m, heads, dv] and lse [heads, m]. Options are those of
    attention, within each sequence.
    """
    m, heads, _ = _dims(q, "q", ("m", "heads", "d"))
    _dims(k, "k", ("n", "kv_heads", "d"))
    out = output(q, (m, heads, _dims(v, "v", ("n", "kv_heads", "dv"))[2]))
    lse = output(q, (heads, m), None, "float32")
    inputs = [q[:, None], k[:, None], v[:, None], sink, slope, q_ends, k_ends]
    options = [scale, int(causal), *window, softcap, 0, 0, 0]
    return run("attention_varlen", inputs, [out, lse], how, options, _varlen_views)


def fp8_attention(
    q, k, v, q_scale, k_scale, v_scale, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None,
    dtype=None, **how
):  # fmt: skip
    """attention of float8_e4m3fn q, k and v, whose codes are multiplied by scales of heads.

    q_scale float32 [batch, heads], k_scale and v_scale float32 [batch, kv_heads]; shapes and options are those of attention.
    dtype of out: float32, which None is on a CPU; on a GPU bfloat16, which None is there for PyTorch's tensors, or float16.
    """
    batch, heads, m, _ = _dims(q, "q", ("batch", "heads", "m", "d"))
    _dims(k, "k", ("batch", "kv_heads", "n", "d"))
    shape = batch, heads, m, _dims(v, "v", ("batch", "kv_heads", "n", "dv"))[3]
    out, lse = output(q, shape, dtype, _narrow_on_gpu(q)), output(q, (batch, heads, m), None, "float32")
    inputs = [*_all_rows_first(q, k, v), sink, slope, q_scale, k_scale, v_scale]
    options = [scale, int(causal), *window, softcap, 0, 0, 0]
    return run("fp8_attention", inputs, [out, lse], how, options, _all_rows_first)


def attention_paged(
    q, k, v, table, lengths, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None, **how
):
    """attention of the last m queries of each sequence over a cache of keys and values in pages.

    q [batch, heads, m, d], k, v [pages, page, kv_heads, d]; table integers [batch, blocks], lengths integers [batch]: sequence b
    has lengths[b] keys, and key j is row j % page of page table[b, j // page]. Returns out [batch, heads, m, d] and lse
    [batch, heads, m]. Options are those of attention.
    """
    batch, heads, m, d = _dims(q, "q", ("batch", "heads", "m", "d"))
    out, lse = output(q, (batch, heads, m, d)), output(q, (batch, heads, m), None, "float32")
    inputs = [_rows_first(q), k, v, sink, slope, table, lengths]
    options = [scale, int(causal), *window, softcap, 0, 0, 0]
    return run("attention_paged", inputs, [out, lse], how, options, _all_rows_first)


def attention_backward(
    q, k, v, o, lse, dout, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None, **how
):
    """dq, dk, dv and dsink (None without a sink) from attention's results o and lse and the gradient with respect to o.

    Options are those of the call of attention that made o and lse."""
    dsink = output(q, (_dims(q, "q", ("batch", "heads", "m", "d"))[1],), None, "float32")
    inputs = [*_all_rows_first(q, k, v, o, lse, dout), sink, slope]
    options = [scale, int(causal), *window, softcap, 0, 0, 0]
    outputs = [same(q), same(k), same(v), dsink]
    made = run("attention_backward", inputs, outputs, how, options, lambda *of: [*_all_rows_first(*of[:3]), of[3]])
    return made if sink is not None else (*made[:3], None)


def gemm_epilogue(
    a, b, c=None, bias=None, row_bias=None, alpha=1.0, beta=1.0, activation="none", dtype=None, **how
):
    """activation(alpha a b + beta c + bias + row_bias): c [m, n] of the result's type, bias [n], row_bias [m]; or None.

    activation: also "relu_squared"; dtype: of the result, c's, or a's or float32."""
    functions = {**ACTIVATIONS, "relu_squared": 5}
    if activation not in functions:
        raise Error(f"activation is {activation!r}; it is one of {', '.join(functions)}")
    if dtype is None and c is not None:
        dtype = c.dtype
    d = output(a, (_dims(a, "a", ("m", "k"))[0], _dims(b, "b", ("k", "n"))[1]), dtype)
    options = [alpha, 0, beta, functions[activation]]
    return run("gemm_epilogue", [a, b, c, bias, row_bias], [d], how, options)


def linear_norm_activation(x, w, b, gamma, beta, **how):
    """gelu(layer_norm(x w + b) gamma + beta): x [m, k], w [k, n] row- or column-major, b, gamma and beta [n]."""
    y = output(x, (_dims(x, "x", ("m", "k"))[0], _dims(w, "w", ("k", "n"))[1]))
    return run("linear_norm_activation", [x, w, b, gamma, beta], [y], how)


def linear_softmax(x, w, b, **how):
    """softmax(x w + b): x [batch, depth], w [depth, classes], b [classes]."""
    y = output(x, (_dims(x, "x", ("batch", "depth"))[0], _dims(w, "w", ("depth", "classes"))[1]))
    return run("linear_softmax", [x, w, b], [y], how)


def linear_cross_entropy(x, w, b, labels, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how):
    """Loss and log-sum-exp of each row of x w^T + b against labels (int32 or int64): x [batch, depth], w [classes, depth]."""
    options = [ignore_index, label_smoothing, z_loss, 0]
    return run("linear_cross_entropy", [x, w, b, labels], [_rows(x), _rows(x)], how, options)


def linear_cross_entropy_backward(
    x, w, b, labels, lse, dloss, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how
):
    """dx, dw, db from linear_cross_entropy's lse and the gradient with respect to each row's loss."""
    options = [ignore_index, label_smoothing, z_loss, 0]
    return run("linear_cross_entropy_backward", [x, w, b, labels, lse, dloss], _gradients(x, w, b), how, options)


def linear_cross_entropy_grad(x, w, b, labels, dloss, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how):
    """loss, lse, dx, dw, db in one call."""
    outputs = [_rows(x), _rows(x), *_gradients(x, w, b)]
    options = [ignore_index, label_smoothing, z_loss, 0]
    return run("linear_cross_entropy_grad", [x, w, b, labels, dloss], outputs, how, options)
