"""Calls in children of a process that has called already. A child that hangs fails: it has 30 seconds."""
import multiprocessing
import os
import signal
import threading
import time
import unittest

import ridge
from tensors import Exporter

SECONDS = 30
PATIENCE = 0.01


class Work:
    """A linear_softmax that takes all threads."""

    rows, depth, classes = 256, 512, 50

    def __init__(self, context):
        self.context = context
        self.inputs = [Exporter(shape) for shape in [(self.rows, self.depth), (self.depth, self.classes), (self.classes,)]]
        for array in self.inputs:
            array.data[:] = [(i * 2654435761 % 1000) / 5000 - 0.1 for i in range(len(array.data))]
        self.output = Exporter((self.rows, self.classes))
        self.wanted = self.run()

    def run(self):
        self.output.data[:] = [float("nan")] * len(self.output.data)
        self.context.apply("linear_softmax", self.inputs, [self.output])
        return bytes(self.output.data)

    def is_right(self):
        return self.run() == self.wanted


class Forks(unittest.TestCase):
    def setUp(self):
        self.work = Work(ridge.Context(2))

    def in_a_child(self, task):
        """Whether task() is true in a child."""
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if task() else 1)
            finally:
                os._exit(2)
        deadline = time.monotonic() + SECONDS
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status) == 0
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self.fail(f"the child did not end within {SECONDS} s")
            time.sleep(PATIENCE)

    def test_the_contexts_of_the_parent_serve_the_child(self):
        for _ in range(3):
            self.assertTrue(self.in_a_child(self.work.is_right))
            self.assertTrue(self.work.is_right())

    def test_a_child_may_have_contexts_of_its_own(self):
        def task():
            own = Work(ridge.Context(3))
            return own.wanted == self.work.wanted and self.work.is_right()

        self.assertTrue(self.in_a_child(task))

    def test_a_child_may_fork(self):
        self.assertTrue(self.in_a_child(lambda: self.work.is_right() and self.in_a_child(self.work.is_right)))

    def test_fork_while_another_thread_calls(self):
        done, other = threading.Event(), Work(self.work.context)

        def call():
            while not done.is_set():
                other.run()

        thread = threading.Thread(target=call)
        thread.start()
        try:
            for _ in range(20):
                self.assertTrue(self.in_a_child(self.work.is_right))
        finally:
            done.set()
            thread.join()
        self.assertTrue(self.work.is_right() and other.is_right())

    def test_multiprocessing(self):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map_async(task_of_a_pool, range(6)).get(SECONDS), [True] * 6)


for_pools = []


def task_of_a_pool(_):
    return for_pools[0].is_right()


def setUpModule():
    for_pools.append(Work(ridge.Context(2)))


def tearDownModule():
    for_pools.clear()
