"""The text: Python's own language reference, which comes with every Python. Its words are the tokens."""
import collections
import re

import torch
from pydoc_data import topics


def tokens(vocabulary):
    """The text as integers below `vocabulary`: words and signs by their frequency. All rarer ones are 0."""
    text = "\n".join(topics.topics[name] for name in sorted(topics.topics))
    words = re.findall(r"\w+|\s+|.", text)
    counts = collections.Counter(words)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[: vocabulary - 1]
    number = {word: i + 1 for i, word in enumerate(ranked)}
    return torch.tensor([number.get(word, 0) for word in words])


def batches(size, steps, seed, device):
    """`steps` pairs of inputs and labels, [batch, context] each: the labels are the tokens one further on."""
    text, random = tokens(size.vocabulary), torch.Generator().manual_seed(seed)
    reach = torch.arange(size.context + 1)
    for _ in range(steps):
        starts = torch.randint(len(text) - size.context, (size.batch, 1), generator=random)
        windows = text[starts + reach].to(device)
        yield windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
