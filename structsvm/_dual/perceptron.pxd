# cython: language_level=3
from structsvm._dual.oracle cimport Oracle


cdef class PerceptronWeights:
    cdef readonly Oracle oracle
    cdef readonly bint average          # whether to predict with the mean of all w
    cdef readonly object last           # the last w
    cdef readonly object moments        # sum of (time of update) x (update)
    cdef readonly long long n_seen
    cdef readonly long long n_updates
    cdef readonly long long n_wrong     # patterns that were misclassified at least once
    cdef object sample_weight           # of each slot
    cdef object wrong                   # whether a slot was misclassified at least once
    cdef object held                    # whether a slot is in the training set

    cdef public double tau              # unused
