import os

# Threads of OpenBLAS wait for each other in a busy loop: on two busy cores that took several times the
# processor time of one thread. Read when NumPy is first imported, by a process that a test starts as well.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
