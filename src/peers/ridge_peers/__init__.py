"""Peers in Python: other libraries' ways to compute what a target of ridge computes, as variants of role peer.

table.py lists them, formulas.py, eager.py, triton_kernels.py and liger.py compute, host.py serves the measuring worker, and
listing.py tells the command line what there is.
"""
