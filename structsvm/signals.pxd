# cython: language_level=3
cdef int check_signals() except -1
