"""The section of the report page that compares the probabilities of labels with their accuracy."""

from __future__ import annotations

from taggers.metrics import expected_error
from taggers.report.errors import Answers
from taggers.report.page import pair, table

SIZE, MARGIN = 230, 26


def reliability(answers: Answers) -> tuple[str, ...]:
    """The expected calibration error, a table of tokens by probability, and the reliability diagram."""
    bins = answers.reliability
    rows = [
        f'<tr><th scope="row">{100 * one.low:.0f} to {100 * one.high:.0f}%</th><td>{one.tokens:,}</td>'
        f"<td>{100 * one.probability:.1f}%</td><td>{100 * one.accuracy:.1f}%</td></tr>"
        for one in bins
    ]
    if not rows:
        return ("",)
    head = ("probability", "tokens", "mean probability", "correct")
    return (
        "How often the most probable label is correct, by its probability. The expected calibration error, "
        "which is the mean difference between the two, weighted by tokens, is "
        f"{100 * expected_error(bins):.2f} percentage points.",
        pair(table(head, rows), _diagram([(one.probability, one.accuracy) for one in bins])),
    )


def _diagram(points: list[tuple[float, float]]) -> str:
    """Accuracy over probability; where the two agree, a point is on the diagonal."""
    inner, floor = SIZE - 2 * MARGIN, SIZE - MARGIN
    places = [(MARGIN + inner * x, floor - inner * y) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="rgb(var(--blue))"/>' for x, y in places)
    return (
        f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="reliability diagram">'
        f'<path d="M{MARGIN} {MARGIN}V{floor}H{floor}M{MARGIN} {floor}L{floor} {MARGIN}" fill="none" '
        'stroke="var(--line)"/>'
        f'<polyline points="{path}" fill="none" stroke="rgb(var(--blue))" stroke-width="2"/>{dots}'
        f'<text x="{MARGIN}" y="{MARGIN - 9}">correct, 0 to 100%</text>'
        f'<text x="{floor}" y="{floor + 15}" text-anchor="end">probability, 0 to 100%</text></svg>'
    )
