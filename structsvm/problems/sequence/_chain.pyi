class Chain:
    n_labels: int

    def __init__(self, n_labels: int) -> None: ...
