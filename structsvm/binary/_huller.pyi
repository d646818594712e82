from structsvm.binary._machine import Machine

class Huller(Machine):
    @property
    def distance(self) -> float: ...
