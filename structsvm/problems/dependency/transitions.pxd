# cython: language_level=3
"""Arc-hybrid transitions: a projective tree with one root, built from left to right.

A state has a stack, whose lowest element is the root 0, and a buffer of the words `front` to n. s0 and s1 are
the topmost elements of the stack:

    SHIFT   push the first word of the buffer
    LEFT    pop s0; its head is the first word of the buffer
    RIGHT   pop s0; its head is s1

RIGHT makes a child of the root only if the buffer is empty, so that every complete tree has one root.
"""
from libc.stdint cimport int32_t

cdef enum:
    SHIFT
    LEFT
    RIGHT
    N_ACTIONS


cdef struct State:
    int32_t n           # words; n + 1 stands for no word
    int32_t front       # the first word of the buffer
    int32_t size        # of the stack
    int32_t* stack
    int32_t* head       # of each word, -1 while it has none
    int32_t* left       # the leftmost child of each word, and the one after it
    int32_t* left2
    int32_t* right      # the rightmost child of each word, and the one before it
    int32_t* right2
    int32_t* n_left     # the number of children on each side
    int32_t* n_right


cdef enum:
    ARRAYS = 8          # of a state, each with an element for the root, each word and no word


cdef inline void place(State* s, int32_t* room, Py_ssize_t width) noexcept nogil:
    """Let the arrays of a state point into `room`, which has ARRAYS * width elements."""
    s.stack, s.head, s.left, s.left2 = room, room + width, room + 2 * width, room + 3 * width
    s.right, s.right2 = room + 4 * width, room + 5 * width
    s.n_left, s.n_right = room + 6 * width, room + 7 * width


cdef inline void begin(State* s, int32_t n) noexcept nogil:
    """The first state of a sentence of n words: the root on the stack, all words in the buffer."""
    cdef int32_t k
    s.n, s.front, s.size, s.stack[0] = n, 1, 1, 0
    for k in range(n + 2):
        s.head[k] = -1
        s.left[k] = s.left2[k] = s.right[k] = s.right2[k] = n + 1
        s.n_left[k] = s.n_right[k] = 0


cdef inline bint done(const State* s) noexcept nogil:
    return s.size == 1 and s.front > s.n


cdef inline bint legal(const State* s, int action) noexcept nogil:
    """Whether an action is possible in a state that is not done; there is always one."""
    if action == SHIFT:
        return s.front <= s.n
    if s.size < 2:
        return False
    if action == LEFT:
        return s.front <= s.n
    return s.size > 2 or s.front > s.n


cdef inline void apply(State* s, int action) noexcept nogil:
    cdef int32_t child, head
    if action == SHIFT:
        s.stack[s.size] = s.front
        s.size, s.front = s.size + 1, s.front + 1
        return
    s.size -= 1
    child = s.stack[s.size]
    if action == LEFT:
        head = s.front
        s.left2[head], s.left[head] = s.left[head], child
        s.n_left[head] += 1
    else:
        head = s.stack[s.size - 1]
        s.right2[head], s.right[head] = s.right[head], child
        s.n_right[head] += 1
    s.head[child] = head


cdef inline void add_costs(const State* s, const int32_t* gold, int32_t* cost) noexcept nogil:
    """How many arcs of the right tree each action makes unreachable; gold: the head of each word, or -1.

    Exact for projective trees: arcs that are reachable one by one are then reachable together.
    """
    cdef int32_t k, s0, b = s.front
    cdef int32_t children = 0
    cost[SHIFT] = cost[LEFT] = cost[RIGHT] = 0
    if s.size > 1:
        s0 = s.stack[s.size - 1]
        for k in range(b, s.n + 1):
            children += gold[k] == s0
        cost[LEFT] = children + (gold[s0] == s.stack[s.size - 2]) + (gold[s0] > b)
        cost[RIGHT] = children + (gold[s0] >= b)
    if b <= s.n:
        for k in range(1, s.size):
            cost[SHIFT] += gold[s.stack[k]] == b
        for k in range(s.size - 1):
            cost[SHIFT] += gold[b] == s.stack[k]
