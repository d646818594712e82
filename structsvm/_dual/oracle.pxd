# cython: language_level=3
"""What a machine reads of one output: see `Oracle`."""
from libc.stdint cimport int32_t

from structsvm._dual.difference cimport Difference


cdef struct Found:
    double loss         # Delta(y_i, y) >= 0
    Py_ssize_t n        # entries of the difference Phi(x_i, y_i) - Phi(x_i, y); none and no loss: y is y_i
    int32_t* index      # borrowed from the oracle until its next call; any order, repeats are added up
    double* value
    double cost         # multiply-adds spent
    const Difference* pair      # set by find_pair() instead of entries; otherwise NULL


cdef class Oracle:
    cdef Found found
    cdef Py_ssize_t capacity                # of found.index and found.value
    cdef readonly Py_ssize_t n_weights
    cdef readonly Py_ssize_t pinned         # first weights that find() reads by index if w is in `Blocks`,
    cdef const int32_t* places              # the others by their blocks' places; NULL, or pinned -1: an array
    cdef public bint slack_rescaling
    cdef public bint squared                # quadratic slacks: sqrt(loss) takes the place of the loss
    cdef bint watching                      # whether predictions made before learning are counted,
    cdef bint unseen                        # whether the next call of find() makes one,
    cdef double n_looks, looks_loss         # how many there were, and the sum of their losses

    cdef void expect(self, bint new) noexcept nogil
    cdef void tally(self, double loss) noexcept nogil
    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil
    cdef int find_pair(self, Py_ssize_t slot, const double* w) except -1 nogil
    cdef int recall(self, Py_ssize_t slot, bint pair) except -1 nogil
    cdef int drop(self, Py_ssize_t slot) except -1 nogil
    cdef int reserve(self, Py_ssize_t n) except -1 nogil
    cdef double scaled_loss(self, double loss) noexcept nogil
    cdef double violation(self, double loss, double margin) noexcept nogil


cdef class PythonOracle(Oracle):
    cdef readonly object problem
    cdef object weights                     # the optimizer's w, read only
    cdef bint guarded
    cdef list patterns
    cdef list free_slots
