"""Gradients of custom operations, and what runs where none is recorded, at PyTorch's key for autograd.

It is what torch.library.register_autograd does, but that fills in the defaults of a schema's arguments at each call that
is recorded, in Python: 15 us or more for the nine arguments of attention, by PyTorch 2.15.
"""
import functools
import operator
import types

import torch


def _picker(places):
    """A function of a sequence: a tuple of what is at these places."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda values: tuple([values[i] for i in places])


def _functions(operation, schema):
    """(setup_context, backward): what is kept of a call, and the gradients of its arguments."""
    arguments, outputs = [a.name for a in schema.arguments], [r.name for r in schema.returns]
    saved, constant = operation.saves.split(), operation.constant.split()
    places = {name: i for i, name in enumerate((*arguments, *outputs))}
    plain = [a.name for a in schema.arguments if "Tensor" not in str(a.type)]
    saved_of, constant_of, plain_of = (_picker([places[name] for name in names]) for names in (saved, constant, plain))

    def setup_context(ctx, inputs, output):
        values = (*inputs, *output) if isinstance(output, tuple) else (*inputs, output)
        ctx.save_for_backward(*saved_of(values))
        if constant:
            ctx.mark_non_differentiable(*constant_of(values))
        ctx.plain = plain_of(inputs)

    def differentiate(call, *given):
        """Operands have had the types that autocast wants since the forward; a backward inside of it casts none anew."""
        device = given[0].device.type
        if not torch.is_autocast_enabled(device):
            return operation.gradient(call, *given)
        with torch.autocast(device, enabled=False):
            return operation.gradient(call, *given)

    def backward(ctx, *gradients):
        if operation.gradient is None:
            raise NotImplementedError(f"ridge::{operation.name} has no gradient")
        call = types.SimpleNamespace(**dict(zip((*plain, *saved), (*ctx.plain, *ctx.saved_tensors))))
        given = [d.contiguous() for name, d in zip(outputs, gradients) if name not in constant]
        of_inputs = differentiate(call, *given)
        needed = ctx.needs_input_grad[1:]  # of the arguments that were given
        for name, is_needed in zip(arguments, needed):
            if is_needed and name not in of_inputs:
                raise NotImplementedError(f"ridge::{operation.name} has no gradient with respect to {name}")
        return (None, *[of_inputs.get(name) for name, _ in zip(arguments, needed)])

    return setup_context, backward


_key_of = torch._C._dispatch_key_parse


class _Direct(dict):
    """The kernel that PyTorch's dispatcher would come to behind autograd, by the keys of a call; None: ask it. Of plain
    tensors, with no mode or transformation under way, that is known, and half of the dispatcher's work is spared."""

    def __init__(self, kernels):
        super().__init__()
        sets = {device: torch._C.DispatchKeySet(_key_of(device)) for device in kernels}
        self.known = {sets[device].raw_repr(): kernel for device, kernel in kernels.items()}

    def learn(self, keys):
        behind = keys & torch._C._after_autograd_keyset
        kernel = self.known.get(behind.remove(_key_of("ADInplaceOrView")).raw_repr())
        return self.setdefault(keys.raw_repr(), kernel)


def _any_requires_grad(*given):
    return any(isinstance(value, torch.Tensor) and value.requires_grad for value in given)


def register(library, operation, overload, kernels):
    """kernels: by device. Returns what calls a function with arguments and records it, where no transformation is active:
    torch.autograd.Function's own apply looks for those, at each argument."""
    setup_context, backward = _functions(operation, overload._schema)
    defaults = tuple([argument.default_value for argument in overload._schema.arguments])
    below = torch._C._AutoDispatchBelowAutograd
    any_requires_grad = getattr(torch._C, "_any_requires_grad", _any_requires_grad)  # PyTorch 2.6 has none
    after, redispatch, direct = torch._C._after_autograd_keyset, overload.redispatch, _Direct(kernels)

    def compute(keys, *given):
        try:
            kernel = direct[keys.raw_repr()]
        except KeyError:
            kernel = direct.learn(keys)
        with below():
            return redispatch(keys & after, *given) if kernel is None else kernel(*given)

    def forward(ctx, call, *given):
        made = call(*given)
        setup_context(ctx, given + defaults[len(given) :], made)
        return made

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    recorded = type(f"{operation.name}_backward", (torch.autograd.Function,), methods)

    def run(keys, *given):
        if torch.is_grad_enabled() and any_requires_grad(*given):
            return recorded.apply(functools.partial(compute, keys), *given)
        return compute(keys, *given)

    library.impl(operation.name, run, "Autograd", with_keyset=True)
    return super(torch.autograd.Function, recorded).apply
