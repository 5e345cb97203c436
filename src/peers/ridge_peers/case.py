"""What a peer is made for: a case of a target, as the worker describes it."""

import dataclasses

ACTIVATIONS = ("none", "gelu", "gelu_tanh", "silu", "relu", "relu_squared")
LEAST_NORM = 1e-12  # fused_l2norm's


class Refused(Exception):
    """The peer does not take this case: it is skipped, for that reason."""


@dataclasses.dataclass
class Spec:
    name: str
    dtype: str  # f32, bf16, f16, i32 …
    given: bool
    shape: list


@dataclasses.dataclass
class Case:
    target: str
    name: str  # of the variant: cpu/torch_eager
    dtype: str  # of storage; tf32: f32 whose products may be rounded
    threads: int
    column_major: bool  # some matrices are
    dim: dict  # extents by name
    option: dict  # values by name; choices are numbers
    ins: list
    outs: list

    @classmethod
    def of(cls, said):
        """said: the worker's JSON, as Python has it."""
        specs = {side: [Spec(**one) for one in said[key]] for side, key in (("ins", "in"), ("outs", "out"))}
        rest = {key: said[key] for key in ("target", "name", "dtype", "threads", "column_major", "dim", "option")}
        return cls(**rest, **specs)

    @property
    def device(self):
        return self.name.split("/")[0]

    @property
    def half(self):
        """Storage has 16 bits. What is rounded to it between two operations is beyond the bounds of fused kernels: such
        values stay in fp32."""
        return self.dtype in ("bf16", "f16")

    @property
    def activation(self):
        return ACTIVATIONS[int(self.option.get("activation", 0))]

    def given(self, name):
        return next(one.given for one in self.ins if one.name == name)
