"""Shapes for the sweeps: drawn at random, the same for the same seed on every machine and Python.

    draw("softmax", seed=1, count=40)                    # a list of Case, for a GPU
    draw("linear_softmax", seed=1, count=60, limits=CPU) # smaller, dense, f32

Extents are log-uniform between the ends of a stratum's ranges. Strata, storage types, layouts and roundings each
come from a deck that is dealt to its end before it is shuffled again: 40 cases hold every stratum at least five
times, and every card of the other decks. A case beyond the limits on bytes and FLOP is drawn again, and after 64
attempts its largest extent shrinks.

The generator is SplitMix64 on integers, and powers are those of `decimal`, which rounds correctly: neither depends
on the machine's mathematical library.
"""

import dataclasses
import decimal
import hashlib

DTYPES = {"f32": 4, "tf32": 4, "bf16": 2, "f16": 2}  # bytes of storage


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one set of operands may take, results included."""

    bytes: int
    flops: float
    logits: int  # elements of the largest intermediate that a peer stores
    layouts: bool  # strided rows, misaligned bases, column-major w, labels of 64 bits
    dtypes: tuple


GPU = Limits(bytes=1 << 30, flops=2e12, logits=1 << 29, layouts=True, dtypes=("f32", "tf32", "bf16", "f16"))
CPU = Limits(bytes=1 << 26, flops=1e9, logits=1 << 23, layouts=False, dtypes=("f32",))


@dataclasses.dataclass(frozen=True)
class Case:
    operation: str
    stratum: str
    shape: dict  # extents by name, in the order of the target's dimensions
    dtype: str
    pad: int = 0  # elements between the end of a row of x and the next row; gemm: of a and of b
    offset: int = 0  # elements by which matrices start past an aligned address
    column_major: bool = False  # w; gemm: b
    labels: str = "i32"
    a_column_major: bool = False  # gemm
    mask: str = "full"  # attention

    @property
    def key(self):
        """Names the case within its operation: 64x128x10/bf16,pad=3,base+1,w^T,i64."""
        words = ["x".join(map(str, self.shape.values())) + "/" + self.dtype]
        words += [f"pad={self.pad}"] * bool(self.pad) + [f"base+{self.offset}"] * bool(self.offset)
        words += ["a^T"] * self.a_column_major
        words += ["b^T" if self.operation == "gemm" else "w^T"] * self.column_major
        words += ["i64"] * (self.labels == "i64")
        words += [self.mask] * (self.mask != "full")
        return ",".join(words)

    @property
    def bytes(self):
        return KINDS[OPERATIONS[self.operation].kind].bytes(self.operation, self.shape, self.dtype)

    @property
    def flops(self):
        return KINDS[OPERATIONS[self.operation].kind].flops(self.operation, self.shape)


# Decks of (a, w) or (a, b) column-major; w is so in a third of the cases, a product has all four orders alike.
MAJORS = ((False, False), (False, False), (False, True))
ORDERS = ((False, False), (False, True), (True, False), (True, True))


# ---- operations -----------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Operation:
    target: str  # ridge's name
    kind: str
    dtypes: tuple = ("f32", "bf16", "f16")
    arrays: int = 2  # row-wise: matrices of rows x cols, x and results
    products: int = 1  # linear: matrix products
    column_major: bool = False  # w may be
    majors: tuple = MAJORS  # deck of (a, w) column-major
    aligned: bool = False  # every row at 16 bytes: peers read beyond what others allow


_LINEAR_TYPES = ("f32", "tf32", "bf16", "f16")
OPERATIONS = {
    "l2norm": Operation("fused_l2norm", "rows"),
    "rms_norm": Operation("rms_norm", "rows"),
    "layer_norm": Operation("layer_norm", "rows"),
    "rms_norm+silu": Operation("norm_activation_rms", "rows"),
    "layer_norm+gelu": Operation("norm_activation", "rows"),
    "add+rms_norm": Operation("add_rms_norm", "rows", arrays=4),
    "softmax": Operation("online_softmax", "rows"),
    "masked_softmax": Operation("masked_softmax", "rows", arrays=3),
    "sin+sqrt": Operation("vertical_fusion", "rows"),
    "clamp+add": Operation("memory_bound", "rows", arrays=3),
    "three_maps": Operation("horizontal_fusion", "rows", arrays=4),
    "linear_softmax": Operation("linear_softmax", "linear", _LINEAR_TYPES, column_major=True),
    "multihead": Operation("multihead_linear_softmax", "heads", _LINEAR_TYPES),
    "ce_forward": Operation("linear_cross_entropy", "linear", _LINEAR_TYPES, column_major=True),
    "ce_backward": Operation("linear_cross_entropy_backward", "linear", _LINEAR_TYPES, products=3, column_major=True),
    "ce_both": Operation("linear_cross_entropy_grad", "linear", _LINEAR_TYPES, products=3, column_major=True),
    "gemm": Operation("gemm", "gemm", ("f32", "bf16", "f16"), column_major=True, majors=ORDERS),
    "attention": Operation("attention", "attention", ("bf16", "f16"), products=2, aligned=True),
    "attention_backward": Operation("attention_backward", "gradients", ("bf16", "f16"), products=5, aligned=True),
    "product": Operation("micro_tiling_matmul", "product", ("f32",)),
}
CROSS_ENTROPY = ("ce_forward", "ce_backward", "ce_both")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A family of operations: its dimensions, and by stratum the ends of each extent's range.

    A word instead of a range: the extent is that of another dimension, or a card of the deck of this name."""

    dims: tuple
    strata: dict
    bytes: object  # (operation, shape, dtype) -> bytes of operands and results
    flops: object  # (operation, shape) -> FLOP, products alone
    logits: object  # (shape) -> elements of the largest intermediate
    decks: dict = dataclasses.field(default_factory=dict)  # beside those of all


def _rows_bytes(operation, s, dtype):
    return OPERATIONS[operation].arrays * s["rows"] * s["cols"] * DTYPES[dtype]


def _product_bytes(operation, s, dtype):
    return (s["m"] * s["k"] + s["k"] * s["n"] + s["m"] * s["n"]) * DTYPES[dtype]


def _product_flops(operation, s):
    return 2.0 * s["m"] * s["n"] * s["k"]


def _linear_bytes(operation, s, dtype):
    rows, depth, classes, heads = s["batch"], s["depth"], s["classes"], s.get("heads", 1)
    weights = heads * depth * classes
    if operation in CROSS_ENTROPY:
        gradients = 1 if operation == "ce_forward" else 2  # dx and dw beside x and w
        return gradients * (rows * depth + weights) * DTYPES[dtype] + 4 * (classes + 4 * rows)
    return (rows * depth + weights + heads * classes + rows * heads * classes) * DTYPES[dtype]


def _linear_flops(operation, s):
    return 2.0 * OPERATIONS[operation].products * s.get("heads", 1) * s["batch"] * s["depth"] * s["classes"]


def _attention_bytes(operation, s, dtype):
    passes = 2 if operation == "attention_backward" else 1  # gradients beside operands
    lines = 2 * s["kv_heads"] * s["n"] + 2 * s["kv_heads"] * s["group"] * s["m"]
    return passes * DTYPES[dtype] * s["batch"] * lines * s["d"]


def _attention_flops(operation, s):
    scores = s["batch"] * s["kv_heads"] * s["group"] * s["m"] * s["n"]
    return 2.0 * OPERATIONS[operation].products * scores * s["d"]


_ATTENTION_DIMS = ("batch", "kv_heads", "group", "m", "n", "d")  # group: heads of q for a head of k and v
_GRADIENT_STRATA = {
    "tiny": ((1, 4), (1, 4), (1, 4), (1, 96), (1, 96), "deck of d"),
    "short": ((8, 64), (4, 16), (1, 4), "n", (64, 1024), "deck of d"),
    "middle": ((1, 16), (1, 16), (1, 8), "n", (512, 4096), "deck of d"),
    "long": ((1, 4), (1, 16), (1, 8), "n", (2048, 1 << 14), "deck of d"),
    "after a prefix": ((1, 8), (1, 8), (1, 8), (16, 1024), (1024, 1 << 15), "deck of d"),
}
_ATTENTION_STRATA = {
    **_GRADIENT_STRATA,
    "one query": ((1, 128), (1, 8), (1, 8), (1, 1), (512, 1 << 16), "deck of d"),
    "few queries": ((1, 64), (1, 8), (1, 8), (2, 16), (512, 1 << 15), "deck of d"),
}
_ATTENTION_DECKS = {
    "deck of d": (64, 64, 128, 128, 128, 80, 96, 192, 256),
    "mask": ("full", "full", "causal", "causal", "causal", "window"),
}
_LINEAR_STRATA = {  # batch, depth, classes
    "tiny": ((1, 64), (1, 128), (1, 32)),
    "few rows, many classes": ((1, 64), (64, 8192), (1 << 13, 1 << 18)),
    "deep, few classes": ((32, 1 << 14), (2048, 1 << 15), (2, 64)),
    "many rows": ((1 << 14, 1 << 20), (8, 512), (2, 256)),
    "middle": ((128, 8192), (128, 4096), (16, 4096)),
    "vocabulary": ((1024, 8192), (512, 4096), (4096, 1 << 17)),
    "any": ((1, 1 << 20), (1, 1 << 14), (1, 1 << 17)),
}
KINDS = {
    "rows": Kind(
        ("rows", "cols"),
        {
            "tiny": ((1, 64), (1, 64)),
            "short rows": ((1 << 10, 1 << 20), (8, 512)),
            "few rows, wide": ((1, 16), (1 << 14, 1 << 18)),
            "middle": ((64, 1 << 14), (256, 1 << 13)),
            "large": ((1 << 12, 1 << 18), (1 << 11, 1 << 15)),
            "long rows": ((16, 4096), (1 << 13, 1 << 18)),
            "any": ((1, 1 << 20), (1, 1 << 18)),
        },
        _rows_bytes,
        lambda operation, s: 0.0,
        lambda s: 0,
    ),
    "linear": Kind(
        ("batch", "depth", "classes"), _LINEAR_STRATA, _linear_bytes, _linear_flops, lambda s: s["batch"] * s["classes"]
    ),
    "heads": Kind(
        ("batch", "heads", "depth", "classes"),
        {  # the vocabulary's classes are spread over the heads
            name: (batch, (2, 64), depth, (classes[0], max(classes[0], classes[1] >> 3)))
            for name, (batch, depth, classes) in _LINEAR_STRATA.items()
        },
        _linear_bytes,
        _linear_flops,
        lambda s: s["batch"] * s["heads"] * s["classes"],
    ),
    "gemm": Kind(
        ("m", "n", "k"),
        {
            "tiny": ((1, 64), (1, 64), (1, 64)),
            "few rows": ((1, 64), (1024, 1 << 15), (512, 1 << 14)),
            "few columns": ((1024, 1 << 15), (1, 64), (512, 1 << 14)),
            "shallow": ((1024, 1 << 14), (1024, 1 << 14), (8, 256)),
            "deep": ((16, 1024), (16, 1024), (1 << 12, 1 << 17)),
            "middle": ((128, 4096), (128, 4096), (128, 4096)),
            "large": ((2048, 1 << 14), (2048, 1 << 14), (2048, 1 << 14)),
            "any": ((1, 1 << 15), (1, 1 << 15), (1, 1 << 15)),
        },
        _product_bytes,
        _product_flops,
        lambda s: 0,
    ),
    "product": Kind(
        ("m", "n", "k"),
        {
            "tiny": ((1, 64), (1, 64), (1, 64)),
            "few rows": ((1, 16), (64, 8192), (64, 8192)),
            "few columns": ((64, 8192), (1, 16), (64, 8192)),
            "shallow": ((64, 4096), (64, 4096), (1, 32)),
            "deep": ((8, 256), (8, 256), (1024, 1 << 16)),
            "middle": ((64, 1024), (64, 1024), (64, 1024)),
            "any": ((1, 1 << 14), (1, 1 << 14), (1, 1 << 14)),
        },
        _product_bytes,
        _product_flops,
        lambda s: 0,
    ),
    "attention": Kind(
        _ATTENTION_DIMS, _ATTENTION_STRATA, _attention_bytes, _attention_flops, lambda s: 0, _ATTENTION_DECKS
    ),
    "gradients": Kind(
        _ATTENTION_DIMS, _GRADIENT_STRATA, _attention_bytes, _attention_flops, lambda s: 0, _ATTENTION_DECKS
    ),
}

# ---- decks: what is dealt beside the strata -------------------------------------------------------------------------
LAYOUTS = ("dense", "dense", "strided", "misaligned", "strided and misaligned")
ROUNDINGS = ("as drawn", "odd", "multiple of 8", "power of two")
LABELS = ("i32", "i64")
PADS = (1, 3, 8, 64)  # elements; only 8 and 64 keep the rows of 16-bit types on 16 bytes
ALIGNED_LAYOUTS, ALIGNED_PADS = ("dense", "strided"), (8, 64)
_ATTEMPTS = 64


class Generator:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    _MASK = (1 << 64) - 1

    def __init__(self, *words):
        text = "\0".join(map(str, words))
        self.state = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self._MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self._MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self._MASK
        return z ^ (z >> 31)

    def below(self, n):
        """Uniform in 0 … n-1; the bias of the product is below n / 2^64."""
        return (self.bits() * n) >> 64

    def log_uniform(self, low, high):
        """An integer of low … high: floor of exp(uniform between log low and log (high + 1))."""
        with decimal.localcontext(decimal.Context(prec=30)):
            span = (decimal.Decimal(high + 1) / low).ln()
            value = low * (span * self.bits() / (1 << 64)).exp()
        return min(high, max(low, int(value)))

    def shuffled(self, cards):
        cards = list(cards)
        for i in range(len(cards) - 1, 0, -1):
            j = self.below(i + 1)
            cards[i], cards[j] = cards[j], cards[i]
        return cards


class Deck:
    """Deals its cards in random order, all of them before any comes again."""

    def __init__(self, generator, cards):
        self.generator, self.cards, self.left = generator, cards, []

    def deal(self):
        self.left = self.left or self.generator.shuffled(self.cards)
        return self.left.pop()


def _rounded(n, rounding, low, high):
    """`n` rounded as said, where the range has such a number near."""
    if rounding == "odd":
        near = n | 1 if (n | 1) <= high else n - 1
    elif rounding == "multiple of 8":
        near = (n + 4) // 8 * 8
    elif rounding == "power of two":
        near = 1 << (n.bit_length() - 1)
    else:
        near = n
    return near if low <= near <= high else n


def fits(operation, shape, dtype, limits):
    kind = KINDS[OPERATIONS[operation].kind]
    return (
        kind.bytes(operation, shape, dtype) <= limits.bytes
        and kind.flops(operation, shape) <= limits.flops
        and kind.logits(shape) <= limits.logits
    )


def _whole(shape, ranges, dealt):
    """`shape` with the extents that are not drawn, in the order of the dimensions."""
    return {
        name: shape[ends] if ends in shape else dealt[ends] if isinstance(ends, str) else shape[name]
        for name, ends in ranges.items()
    }


def _shape(generator, operation, dealt, limits):
    kind, rounding, dtype = KINDS[OPERATIONS[operation].kind], dealt["rounding"], dealt["dtype"]
    ranges = dict(zip(kind.dims, kind.strata[dealt["stratum"]]))
    for _ in range(_ATTEMPTS):
        drawn = {
            name: _rounded(generator.log_uniform(*ends), rounding, *ends)
            for name, ends in ranges.items()
            if not isinstance(ends, str)
        }
        if fits(operation, _whole(drawn, ranges, dealt), dtype, limits):
            break
    while not fits(operation, _whole(drawn, ranges, dealt), dtype, limits):
        largest = max(drawn, key=drawn.get)
        drawn[largest] = max(1, drawn[largest] // 2 | (rounding == "odd"))
    return _whole(drawn, ranges, dealt)


def dtypes_of(operation, limits):
    return tuple(dtype for dtype in OPERATIONS[operation].dtypes if dtype in limits.dtypes)


def draw(operation, seed, count, limits=GPU, dtypes=None):
    """`count` cases of `operation`. More cases with the same seed begin with the same ones.

    `dtypes`: only these storage types (None: all that operation and limits have)."""
    kind, generator = KINDS[OPERATIONS[operation].kind], Generator("ridge sweep", seed, operation)
    types = [t for t in dtypes_of(operation, limits) if dtypes is None or t in dtypes]
    if not types:
        raise ValueError(f"{operation} has no type of {', '.join(dtypes or limits.dtypes)}")
    aligned = OPERATIONS[operation].aligned
    decks = {
        name: Deck(generator, cards)
        for name, cards in (
            ("stratum", list(kind.strata)), ("dtype", types), ("layout", ALIGNED_LAYOUTS if aligned else LAYOUTS),
            ("rounding", ROUNDINGS), ("major", OPERATIONS[operation].majors), ("labels", LABELS),
            ("pad", ALIGNED_PADS if aligned else PADS), *kind.decks.items(),
        )
    }  # fmt: skip
    cases, seen = [], set()
    while len(cases) < count:
        dealt = {name: deck.deal() for name, deck in decks.items()}
        case = _case(generator, operation, dealt, limits)
        if case.key not in seen:  # tiny shapes may meet
            seen.add(case.key)
            cases.append(case)
    return cases


def _case(generator, operation, dealt, limits):
    shape = _shape(generator, operation, dealt, limits)
    if not limits.layouts:
        return Case(operation, dealt["stratum"], shape, dealt["dtype"])
    a_column_major, column_major = dealt["major"]
    return Case(
        operation,
        dealt["stratum"],
        shape,
        dealt["dtype"],
        pad=dealt["pad"] if "strided" in dealt["layout"] else 0,
        offset=1 if "misaligned" in dealt["layout"] else 0,
        column_major=OPERATIONS[operation].column_major and column_major,
        labels=dealt["labels"] if operation in CROSS_ENTROPY else "i32",
        a_column_major=a_column_major,
        mask=dealt.get("mask", "full"),
    )
