"""From a drawn Case to what runs: operands in its layout, ridge and its peers on them, and the fp64 reference.

    problem = problem_of(case, device)  # "cuda" or "cpu"
    problem.sets = [problem.make() for _ in range(n)]
    runs = problem.sides(context, torch.compile, {})  # {name: Side}
    outputs = runs["ridge"].run(0)  # computes on set 0: {output: tensor}
    problem.errors({"ridge": outputs})  # against fp64, over the largest value of each output

Row-wise data is uniform in [-1, 1). Of linear operations x is normal, w normal / sqrt(depth) and b normal, of a
product a normal and b normal / sqrt(k); labels are uniform. Cross-entropy has no bias (b = 0), which lets peers leave
it out, and the gradient of the mean. Of attention all operands are normal.
"""

import dataclasses
import math

import torch

import draw
import sides
from sides import DTYPES
from torch.nn.attention import SDPBackend

CHUNK = 1 << 25  # elements of fp64 that the reference holds at a time
# Largest error over the largest value of an output. Coarse: they catch a kernel that computes something else, in peers
# and ridge alike; `ridge verify` holds ridge to derived bounds. Products in 16 bits: peers round their logits to them.
TOLERANCE = {
    "rows": {"f32": 1e-4, "bf16": 2e-2, "f16": 4e-3},
    "products": {"f32": 1e-4, "tf32": 2e-2, "bf16": 6e-2, "f16": 1.5e-2},
    "attention": {"bf16": 2e-2, "f16": 4e-3},
    "gradients": {"bf16": 6e-2, "f16": 1.5e-2},
}


@dataclasses.dataclass
class Side:
    run: object  # of the number of a set: {output: tensor}
    captured: bool = True  # a CUDA graph can hold it
    context: object = None  # ridge's
    stream: object = None  # in which it must be captured
    before: object = None  # called with the number of sets before it is captured


class Problem:
    """Base: a target, its tensors and PyTorch's way to compute it."""

    def __init__(self, case, device):
        self.case, self.device, self.dtype = case, device, DTYPES[case.dtype]
        self.target = draw.OPERATIONS[case.operation].target
        self.sets = []

    # ---- operands ----
    def matrix(self, rows, cols, fill, pad=0, column_major=False, lead=()):
        """A matrix (or len `lead` more dimensions) in the case's alignment; what lies between its rows is NaN."""
        if column_major:
            return self.matrix(cols, rows, fill, pad).t()
        count = math.prod(lead) * rows * (cols + pad)
        flat = torch.full((self.case.offset + count,), math.nan, device=self.device, dtype=self.dtype)
        view = flat[self.case.offset :].view(*lead, rows, cols + pad)[..., :cols]
        if fill:
            fill(view)
        return view

    def vector(self, n, fill, dtype=None):
        return fill(torch.empty(n, device=self.device, dtype=dtype or self.dtype))

    def full(self, n, value):
        return torch.full((n,), value, device=self.device, dtype=torch.float32)

    # ---- sides ----
    def ridge_side(self, context, variant=None):
        def run(i):
            s = self.sets[i]
            context.apply(self.target, s.inputs, list(s.outputs.values()), variant=variant)
            return s.outputs

        return Side(run, context=context)

    def side(self, compute, given=None, names=None, captured=True):
        names = names or self.names

        def run(i):
            result = compute(*(given or self.given)(self.sets[i]))
            return dict(zip(names, result if isinstance(result, tuple) else (result,)))

        return Side(run, captured)

    def sides(self, context, compiler, libraries):
        """ridge first. `compiler`: torch.compile or None; `libraries`: their kernels, by library."""
        found = {"ridge": self.ridge_side(context)}
        for name, compute in self.eager().items():
            found[name] = self.side(compute)
        if compiler:
            found["compile"] = self.side(compiler(self.to_compile()))
        for library, kernels in libraries.items():
            side = self.library_side(library, kernels)
            if side:
                found[library] = side
        return found

    def library_side(self, library, kernels):
        return None

    # ---- verification ----
    def errors(self, outputs):
        """{side: largest error over all of its outputs}, each over the output's largest value; NaN where one is NaN."""
        worst, largest = {}, {}
        for name, part, want in self.reference(self.sets[0]):
            largest[name] = torch.maximum(largest.get(name, want.new_zeros(())), want.abs().max())
            for side, got in outputs.items():
                if name in got:
                    difference = (got[name][part].double() - want).abs().max()
                    worst[side, name] = torch.maximum(worst.get((side, name), difference.new_zeros(())), difference)
        found = {}
        for (side, name), difference in worst.items():
            scale = max(float(largest[name]), self.natural(name), torch.finfo(torch.float64).tiny)
            found.setdefault(side, []).append(float(difference) / scale)
        return {side: math.nan if any(map(math.isnan, errors)) else max(errors) for side, errors in found.items()}

    def natural(self, name):
        """The size that an output would have without cancellation."""
        return 0.0

    def chunks(self, rows, width):
        step = max(1, CHUNK // max(1, width))
        return (slice(begin, min(rows, begin + step)) for begin in range(0, rows, step))


@dataclasses.dataclass
class Set:
    inputs: list  # ridge's
    outputs: dict  # ridge's
    extra: dict = dataclasses.field(default_factory=dict)  # what peers take instead


# ---- row-wise and elementwise ----------------------------------------------------------------------------------------
def _unit(t):
    return t.uniform_(-1, 1)


ROWS = {  # (PyTorch's function, inputs of rows x cols, parameters, outputs, the library's kernel and what follows it)
    "l2norm": (sides.l2norm, 1, 0, ("y",), None, None),
    "rms_norm": (sides.rms_norm, 1, 1, ("y",), "rms_norm", None),
    "layer_norm": (sides.layer_norm, 1, 2, ("y",), "layer_norm", None),
    "rms_norm+silu": (sides.rms_norm_silu, 1, 1, ("y",), "rms_norm", torch.nn.functional.silu),
    "layer_norm+gelu": (sides.layer_norm_gelu, 1, 2, ("y",), "layer_norm", torch.nn.functional.gelu),
    "add+rms_norm": (sides.add_rms_norm, 2, 1, ("y", "sum"), "add_rms_norm", None),
    "softmax": (sides.softmax, 1, 0, ("y",), "softmax", None),
    "masked_softmax": (sides.masked_softmax, 2, 0, ("y",), None, None),
    "sin+sqrt": (sides.sin_sqrt, 1, 0, ("y",), None, None),
    "clamp+add": (sides.clamp_add, 2, 0, ("y",), None, None),
    "three_maps": (sides.three_maps, 1, 0, ("square", "relu", "affine"), None, None),
}


class RowWise(Problem):
    def __init__(self, case, device):
        super().__init__(case, device)
        self.compute, self.matrices, self.parameters, self.names, self.kernel, self.after = ROWS[case.operation]
        self.tolerance = TOLERANCE["rows"][case.dtype]

    def make(self):
        rows, cols = self.case.shape["rows"], self.case.shape["cols"]
        inputs = [self.matrix(rows, cols, _unit, self.case.pad) for _ in range(self.matrices)]
        inputs += [self.vector(cols, _unit) for _ in range(self.parameters)]
        outputs = {name: self.matrix(rows, cols, None) for name in self.names}
        return Set(inputs, outputs, {"wide": [p.float() for p in inputs[self.matrices :]]})

    def given(self, s):
        return s.inputs

    def eager(self):
        return {"eager": self.compute}

    def to_compile(self):
        compute = self.compute
        return lambda *arrays: compute(*arrays)  # a function of its own, that no other case has compiled

    def library_side(self, library, kernels):
        kernel, after = kernels.get(self.kernel), self.after
        if not kernel:
            return None
        wide = library == "quack"  # parameters of f32
        given = (lambda s: s.inputs[: self.matrices] + s.extra["wide"]) if wide else self.given
        return self.side((lambda *arrays: after(kernel(*arrays))) if after else kernel, given)

    def reference(self, s):
        matrices = s.inputs[: self.matrices]
        parameters = [p.double() for p in s.inputs[self.matrices :]]
        for part in self.chunks(*self.case.shape.values()):
            want = self.compute(*[m[part].double() for m in matrices], *parameters)
            for name, one in zip(self.names, want if isinstance(want, tuple) else (want,)):
                yield name, part, one


# ---- c = a b ----------------------------------------------------------------------------------------------------------
class Product(Problem):
    names = ("c",)

    def __init__(self, case, device):
        super().__init__(case, device)
        self.tolerance = TOLERANCE["products"][case.dtype]

    def make(self):
        case, (m, n, k) = self.case, self.case.shape.values()
        a = self.matrix(m, k, torch.Tensor.normal_, case.pad, case.a_column_major)
        b = self.matrix(k, n, lambda view: view.normal_(0, k**-0.5), case.pad, case.column_major)
        return Set([a, b], {"c": self.matrix(m, n, None)})

    def given(self, s):
        return s.inputs

    def eager(self):
        return {"eager": torch.matmul}

    def to_compile(self):
        return lambda a, b: torch.matmul(a, b)  # a function of its own, that no other case has compiled

    def reference(self, s):
        (a, b), (m, n, k) = s.inputs, self.case.shape.values()
        b = b.double()
        for part in self.chunks(m, max(n, k)):
            yield "c", part, a[part].double() @ b


# ---- softmax(x w + b) -----------------------------------------------------------------------------------------------
class Linear(Problem):
    names = ("p",)

    def __init__(self, case, device):
        super().__init__(case, device)
        self.tolerance = TOLERANCE["products"][case.dtype]
        s = case.shape
        self.batch, self.depth, self.classes, self.heads = s["batch"], s["depth"], s["classes"], s.get("heads")

    def weights(self, view):
        return view.normal_(0, self.depth**-0.5)

    def given(self, s):
        return s.inputs

    def make(self):
        lead = (self.heads,) if self.heads else ()
        x = self.matrix(self.batch, self.depth, torch.Tensor.normal_, self.case.pad)
        w = self.matrix(self.depth, self.classes, self.weights, column_major=self.case.column_major, lead=lead)
        b = torch.empty(*lead, self.classes, device=self.device, dtype=self.dtype).normal_()
        p = self.matrix(self.heads or self.batch, self.classes, None, lead=(self.batch,) if self.heads else ())
        return Set([x, w, b], {"p": p})

    def eager(self):
        if self.heads:
            return {"eager": sides.multihead, "eager bmm": sides.multihead_bmm}
        return {"eager": sides.linear_softmax}

    def to_compile(self):
        compute = sides.multihead if self.heads else sides.linear_softmax
        return lambda x, w, b: compute(x, w, b)

    def reference(self, s):
        compute = sides.multihead if self.heads else sides.linear_softmax
        x, w, b = s.inputs
        w, b = w.double(), b.double()
        for part in self.chunks(self.batch, max(self.depth, (self.heads or 1) * self.classes)):
            yield "p", part, compute(x[part].double(), w, b)


# ---- cross-entropy ---------------------------------------------------------------------------------------------------
class CrossEntropy(Linear):
    def __init__(self, case, device):
        super().__init__(case, device)
        self.scale = self.loss_scale()

    def loss_scale(self):
        """f16 cannot hold the gradients of a mean over many rows: users scale the loss, and so does this."""
        if self.case.dtype != "f16" or self.case.operation == "ce_forward":
            return 1.0
        return 2.0 ** (self.batch.bit_length() // 2)

    def make(self):
        case = self.case
        x = self.matrix(self.batch, self.depth, torch.Tensor.normal_, case.pad)
        w = self.matrix(self.classes, self.depth, self.weights, column_major=case.column_major)
        labels = torch.randint(0, self.classes, (self.batch,), device=self.device)
        b, dloss = self.full(self.classes, 0.0), self.full(self.batch, self.scale / self.batch)
        extra = {"x": x, "w": w, "labels": labels, "dloss": dloss}
        inputs = [x, w, b, labels if case.labels == "i64" else labels.int()]
        if case.operation == "ce_backward":
            extra["lse"] = torch.cat([lse for _, lse in self.logits(x, w)]).float()
            inputs += [extra["lse"]]
        if case.operation != "ce_forward":
            inputs += [dloss]
            extra["leaves"] = (x.detach().requires_grad_(), w.detach().requires_grad_())
        outputs = {}
        if case.operation != "ce_backward":
            outputs = {"loss": self.full(self.batch, math.nan), "lse": self.full(self.batch, math.nan)}
        if case.operation != "ce_forward":
            outputs["dx"] = self.matrix(self.batch, self.depth, None)
            outputs["dw"] = self.matrix(self.classes, self.depth, None, column_major=case.column_major)
            outputs["db"] = self.full(self.classes, math.nan)
        return Set(inputs, outputs, extra)

    def logits(self, x, w):
        """(rows, log-sum-exp) in fp64, chunk by chunk."""
        wide = w.double()
        for part in self.chunks(self.batch, max(self.depth, self.classes)):
            yield part, torch.logsumexp(x[part].double() @ wide.T, 1)

    @property
    def names(self):
        of = {"ce_forward": ("mean",), "ce_backward": ("dx", "dw", "db"), "ce_both": ("mean", "dx", "dw")}
        return of[self.case.operation]

    def given(self, s):
        e = s.extra
        if self.case.operation == "ce_forward":
            return e["x"], e["w"], e["labels"]
        if self.case.operation == "ce_backward":
            return e["x"], e["w"], e["labels"], e["lse"], e["dloss"]
        return (*e["leaves"], e["labels"])

    def by_autograd(self, loss_of):
        scale = self.scale
        scaled = loss_of if scale == 1 else lambda x, w, labels: loss_of(x, w, labels) * scale
        return lambda x, w, labels: sides.with_gradients(scaled, x, w, labels)

    def eager(self):
        if self.case.operation == "ce_both":
            return {"eager": self.by_autograd(sides.cross_entropy)}
        compute = sides.cross_entropy if self.case.operation == "ce_forward" else sides.cross_entropy_backward_in_place
        return {"eager": compute}

    def to_compile(self):
        if self.case.operation == "ce_backward":
            return lambda *arrays: sides.cross_entropy_backward(*arrays)
        return lambda x, w, labels: sides.cross_entropy(x, w, labels)

    def side(self, compute, given=None, names=None, captured=True):
        run = super().side(compute, given, names, captured)
        if self.case.operation == "ce_both":  # other operations must not record anything for autograd
            return run

        def without_grad(i, inner=run.run):
            with torch.no_grad():
                return inner(i)

        return Side(without_grad, captured)

    def sides(self, context, compiler, libraries):
        if compiler and self.case.operation == "ce_both":
            plain = compiler
            compiler = lambda compute: self.by_autograd(plain(compute))  # noqa: E731
        return super().sides(context, compiler, libraries)

    def library_side(self, library, kernels):
        loss = kernels.get("loss")
        if not loss or self.case.operation == "ce_backward":
            return None
        return self.side(loss if self.case.operation == "ce_forward" else self.by_autograd(loss), captured=False)

    def natural(self, name):
        """Of gradients: dloss times the size of w, or of x and of 1 for as many rows as have one label."""
        labelled = max(1.0, self.batch / self.classes) ** 0.5
        of = {"dx": self.depth**-0.5, "dw": labelled, "db": labelled}
        return self.scale / self.batch * of[name] if name in of else 1.0

    def reference(self, s):
        e, forward = s.extra, self.case.operation != "ce_backward"
        w, labels, total = e["w"].double(), e["labels"], 0
        gradients = self.case.operation != "ce_forward"
        dw, db = (torch.zeros_like(w), w.new_zeros(self.classes)) if gradients else (None, None)
        for part in self.chunks(self.batch, max(self.depth, self.classes)):
            x = e["x"][part].double()
            z = x @ w.T
            lse = torch.logsumexp(z, 1) if forward else e["lse"][part].double()
            if forward:
                loss = lse - z.gather(1, labels[part, None])[:, 0]
                total = total + loss.sum()
                yield "loss", part, loss
                yield "lse", part, lse
            if gradients:
                g = z.sub_(lse[:, None]).exp_()
                g.scatter_add_(1, labels[part, None], torch.full_like(lse, -1)[:, None]).mul_(e["dloss"][part, None])
                dw += g.T @ x
                db += g.sum(0)
                yield "dx", part, g @ w
        if forward:
            scale = self.scale if gradients else 1.0
            yield "mean", ..., scale * total / self.batch
        if gradients:
            yield "dw", slice(None), dw
            yield "db", slice(None), db


# ---- attention --------------------------------------------------------------------------------------------------------
WINDOW = 256  # keys before its own that a query sees, where the mask is a window


class Attention(Problem):
    """Matrices of [batch, heads, rows, d]: of the case's layout, a strided one has rows of all heads side by side."""

    names = ("out",)

    def __init__(self, case, device):
        super().__init__(case, device)
        self.tolerance = TOLERANCE["attention"][case.dtype]
        self.batch, self.kv_heads, self.group, self.m, self.n, self.d = case.shape.values()
        self.heads, self.causal = self.kv_heads * self.group, case.mask != "full"
        self.left = WINDOW if case.mask == "window" else -1
        self.options = [0, int(self.causal), self.left, -1]  # scale, causal, left, right; those behind are 0

    def lines(self, heads, rows, fill=torch.Tensor.normal_):
        if self.case.pad:
            return self.matrix(heads, self.d, fill, self.case.pad, lead=(self.batch, rows)).transpose(1, 2)
        return self.matrix(rows, self.d, fill, lead=(self.batch, heads))

    def make(self):
        q, k, v = self.lines(self.heads, self.m), self.lines(self.kv_heads, self.n), self.lines(self.kv_heads, self.n)
        out = self.lines(self.heads, self.m, None)
        lse = torch.empty(self.m, self.batch, self.heads, device=self.device)
        inputs = [turned(q), turned(k), turned(v), None, None]
        return Set(inputs, {"out": out, "lse": lse}, {"operands": (q, k, v)})

    def ridge_side(self, context, variant=None):
        def run(i):
            s = self.sets[i]
            results = [turned(s.outputs["out"]), s.outputs["lse"]]
            context.apply(self.target, s.inputs, results, variant=variant, options=self.options)
            return s.outputs

        return Side(run, context=context)

    def given(self, s):
        return s.extra["operands"]

    def eager(self):
        if self.case.mask == "window":
            return {}  # PyTorch has no fused one: flex_attention makes it
        share = self.group > 1
        if not self.causal or self.m == 1 or self.m == self.n:
            causal = self.causal and self.m > 1
            cudnn = sides.attention_by(SDPBackend.CUDNN_ATTENTION, share, is_causal=causal)
            flash = sides.attention_by(SDPBackend.FLASH_ATTENTION, share, is_causal=causal)
            return {"cudnn": cudnn, "flash2": flash}
        return {"flash2": sides.attention_lower_right(share, self.m, self.n)}

    def sides(self, context, compiler, libraries):
        found = super().sides(context, None, libraries)
        if compiler and self.case.mask == "window":
            found["flex"] = self.side(sides.flex_window(compiler, self.m, self.n, WINDOW, self.group > 1))
        return found

    def seen(self, rows):
        """Which keys the queries `rows` see: aligned at the bottom right."""
        i = torch.arange(rows.start, rows.stop, device=self.device)[:, None] + self.n - self.m
        j = torch.arange(self.n, device=self.device)
        seen = torch.ones(i.shape[0], self.n, dtype=torch.bool, device=self.device)
        if self.causal:
            seen &= j <= i
        return seen & (j >= i - self.left) if self.left >= 0 else seen

    def scores(self, q, k, rows):
        """Of rows of the heads that share k: [group, rows, n]; a row that sees no key has all of them at -inf."""
        return (q @ k.T * self.d**-0.5).masked_fill(~self.seen(rows), -math.inf)

    def reference(self, s):
        q, k, v = s.extra["operands"]
        for b in range(self.batch):
            for g in range(self.kv_heads):
                heads = slice(g * self.group, (g + 1) * self.group)
                for rows in self.chunks(self.m, self.n * self.group):
                    z = self.scores(q[b, heads, rows].double(), k[b, g].double(), rows)
                    yield "out", (b, heads, rows), torch.softmax(z, -1).nan_to_num(0) @ v[b, g].double()


def turned(x):
    """[rows, batch, heads, d], as ridge's dimensions are."""
    return x.permute(2, 0, 1, 3)


class AttentionBackward(Attention):
    names = ("dq", "dk", "dv")

    def natural(self, name):
        """dp is some sqrt(d), the scale its inverse; a probability is 1 / n. Of a single key dq and dk are 0."""
        return self.n**-0.5 if name == "dq" else self.m**0.5 / self.n

    def __init__(self, case, device):
        super().__init__(case, device)
        self.tolerance = TOLERANCE["gradients"][case.dtype]
        self.forward_context = sides.import_ridge().Context(1)
        self.stream = torch.cuda.Stream()  # PyTorch's gradients run in that of their forward pass

    def make(self):
        forward = super().make()
        out, lse = forward.outputs.values()
        self.forward_context.apply("attention", forward.inputs, [turned(out), lse], options=self.options)
        dout = self.lines(self.heads, self.m)
        q, k, v = forward.extra["operands"]
        grads = {"dq": self.lines(self.heads, self.m, None), "dk": self.lines(self.kv_heads, self.n, None)}
        grads["dv"] = self.lines(self.kv_heads, self.n, None)
        inputs = [*forward.inputs[:3], turned(out), lse, turned(dout), None, None]
        return Set(inputs, grads, {"operands": (q, k, v), "dout": dout})

    def ridge_side(self, context, variant=None):
        dsink = torch.empty(self.heads, device=self.device)

        def run(i):
            s = self.sets[i]
            results = [*map(turned, s.outputs.values()), dsink]
            context.apply(self.target, s.inputs, results, variant=variant, options=self.options)
            return s.outputs

        return Side(run, context=context)

    def side(self, compute, given=None, names=None, captured=True):
        """The gradient function of PyTorch's own graph, kept, so that only its kernels run."""
        saved = {}

        def run(i):
            s = self.sets[i]
            with torch.cuda.stream(self.stream):
                if i not in saved:
                    leaves = [x.detach().requires_grad_() for x in s.extra["operands"]]
                    saved[i] = (compute(*leaves), leaves)
                out, leaves = saved[i]
                return dict(zip(self.names, torch.autograd.grad(out, leaves, s.extra["dout"], retain_graph=True)))

        return Side(run, stream=self.stream, before=lambda count: [run(i) for i in range(count)])

    def reference(self, s):
        (q, k, v), dout, scale = s.extra["operands"], s.extra["dout"], self.d**-0.5
        for b in range(self.batch):
            for g in range(self.kv_heads):
                heads, keys, values = slice(g * self.group, (g + 1) * self.group), k[b, g].double(), v[b, g].double()
                dk, dv = torch.zeros_like(keys), torch.zeros_like(values)
                for rows in self.chunks(self.m, self.n * self.group):
                    queries, given = q[b, heads, rows].double(), dout[b, heads, rows].double()
                    p = torch.softmax(self.scores(queries, keys, rows), -1).nan_to_num(0)
                    dp = given @ values.T
                    ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * scale
                    yield "dq", (b, heads, rows), ds @ keys
                    dk += (ds.transpose(-2, -1) @ queries).sum(0)
                    dv += (p.transpose(-2, -1) @ given).sum(0)
                yield "dk", (b, g), dk
                yield "dv", (b, g), dv


KINDS = {"gemm": Product, "attention": Attention, "gradients": AttentionBackward}


def problem_of(case, device):
    if case.operation in ROWS:
        return RowWise(case, device)
    kind = draw.OPERATIONS[case.operation].kind
    if kind in KINDS:
        return KINDS[kind](case, device)
    return (CrossEntropy if case.operation in draw.CROSS_ENTROPY else Linear)(case, device)
