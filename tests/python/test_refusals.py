"""Arguments that are no arrays, no lists of arrays, or no names: what the error texts say."""
import copy
import pickle
import unittest

import ridge
from tensors import Exporter, StandIn


class Refusals(unittest.TestCase):
    def setUp(self):
        self.context = ridge.Context(1)
        self.x, self.y = StandIn.empty((2, 3)), StandIn.empty((2, 3))

    def refused(self, said, target, inputs, outputs, **how):
        with self.assertRaisesRegex(ridge.Error, said):
            self.context.apply(target, inputs, outputs, **how)

    def test_what_is_no_array(self):
        for other in ([1.0], (2, 3), "x", 3, 2.5, object()):
            kind = type(other).__name__
            self.refused(rf"online_softmax: inputs\[0\] is of type {kind}, not an array", "online_softmax", [other], [self.y])
            self.refused(rf"online_softmax: outputs\[0\] is of type {kind}, not an array", "online_softmax", [self.x], [other])

    def test_what_is_not_given(self):
        self.refused("online_softmax: x is not given", "online_softmax", [None], [self.y])
        self.refused(r"online_softmax: outputs\[0\] is None", "online_softmax", [self.x], [None])

    def test_an_array_in_place_of_a_list(self):
        class Rows(Exporter):
            def __iter__(self):
                return iter([self, self])

            def __len__(self):
                return 2

        rows = Rows((2, 3))
        self.refused(r"inputs is one Rows, not a list of arrays: write \[inputs\]", "online_softmax", rows, [self.y])
        self.refused("outputs is one Rows", "online_softmax", [self.x], rows)

    def test_copies_of_a_context(self):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "not copied: make another Context"):
                copied(self.context)
        self.context.apply("online_softmax", [self.x], [self.y])  # as before

    def test_what_is_no_name(self):
        self.refused("target is of type NoneType, not a name", None, [self.x], [self.y])
        self.refused("variant is of type int, not a name", "online_softmax", [self.x], [self.y], variant=3)

    def test_options(self):
        self.refused("options has 9 numbers; no target has more than 8", "online_softmax", [self.x], [self.y], options=[0] * 9)

    def test_numbers_of_arrays(self):
        self.refused("takes 1 inputs and 1 outputs", "online_softmax", [self.x, self.x], [self.y])
        self.refused("takes 1 inputs and 1 outputs", "online_softmax", [], [])

    def test_tensors_that_are_no_plain_memory(self):
        self.context.apply("online_softmax", [self.x], [self.y])  # what the kept call must not let through
        for said, how in [
            (r"inputs\[0\] has its negative bit set: resolve_neg", {"neg": True}),
            (r"inputs\[0\] has its conjugate bit set: resolve_conj", {"conj": True, "dtype": "float64"}),
            (r"inputs\[0\] is on device 'meta'", {"device": ("meta", None)}),
        ]:
            self.refused(said, "online_softmax", [StandIn.empty((2, 3), **how)], [self.y])
        for name, value, said in [
            ("layout", "torch.sparse_coo", r"inputs\[0\] has layout torch.sparse_coo: to_dense"),
            ("is_quantized", True, r"inputs\[0\] is quantized: dequantize"),
            ("is_nested", True, r"inputs\[0\] is a nested tensor"),
            ("dtype", "torch.float8_e4m3fnuz", r"inputs\[0\] has dtype torch.float8_e4m3fnuz"),
            ("dtype", "torch.float8_e4m3fn", "x is of type e4m3; on the CPU it takes f32"),
        ]:
            x = StandIn.empty((2, 4))
            setattr(x, name, value)
            self.refused(said, "online_softmax", [x], [self.y])

    def test_tensors_without_memory(self):
        x, empty = StandIn.empty((2, 4)), StandIn.empty((0, 4))
        x.data_ptr = empty.data_ptr = lambda: 0
        self.refused(r"inputs\[0\] \(Tensor\) has no memory of its own", "online_softmax", [x], [StandIn.empty((2, 4))])
        self.context.apply("online_softmax", [empty], [StandIn.empty((0, 4))])

    def test_named_operations(self):
        def refused(said, *arguments):
            with self.assertRaisesRegex(ridge.Error, said):
                ridge.linear_softmax(*arguments)

        w, b = StandIn.empty((3, 4)), StandIn.empty((4,))
        refused("x is of type list, not an array", [], w, b)
        refused(r"w has 1 dimensions, not 2: \[depth, classes\]", self.x, b, b)
        refused("depth is 3 in w and 4 elsewhere", StandIn.empty((2, 4)), w, b)
        refused("outputs of type Exporter cannot be made here", Exporter((2, 3)), w, b)
