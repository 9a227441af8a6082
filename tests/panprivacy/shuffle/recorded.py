"""A shuffle protocol that keeps what it was run on."""


class Recorded:
    """To be put before the class of a protocol.

    Attributes:
        values: of all users so far, in the order in which they were randomized.
        analyzed: of every estimate, the counts of all messages and the number of users.
    """

    def __init__(self, parameters):
        super().__init__(parameters)
        self.values, self.analyzed = [], []

    def randomize(self, value, random_source):
        self.values.append(value)
        return super().randomize(value, random_source)

    def estimate(self, total, reports):
        self.analyzed.append((total, reports))
        return super().estimate(total, reports)
