"""Pictures as SVG, drawn by the server. Attributes and classes, no styles: the page's policy forbids these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from memctl.present import plain

WIDTH = 640
"""Units; the page scales pictures to the room they have."""


def _svg(height: int, title: str, inside: Sequence[Markup], kind: str, width: int = WIDTH) -> Markup:
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">{}</svg>'
    ).format(kind, width, height, plain.clean(title), Markup("").join(inside))


def bar(parts: Mapping[str, float], whole: float, title: str) -> Markup:
    """A bar in parts, each with a class of its name; what is left of the whole stays empty."""
    inside, at = [], 0.0
    for name, value in parts.items():
        width = max(0.0, value) / whole * 100 if whole > 0 else 0.0
        width = min(width, 100 - at)
        inside.append(
            Markup(
                '<rect class="part-{}" x="{:.2f}" y="0" width="{:.2f}" height="8"><title>{} {:.3f}</title></rect>'
            ).format(name.replace(" ", "-"), at, width, name, value)
        )
        at += width
    return _svg(8, title, inside, "bar", 100)


def columns(values: Mapping[str, int], title: str, height: int = 120) -> Markup:
    """A column for each value; the name and the number of one are its title."""
    most, number = max(values.values(), default=1) or 1, max(len(values), 1)
    step = WIDTH / number
    inside = [
        Markup(
            '<rect class="column" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {:,}</title></rect>'
        ).format(at * step, height - height * value / most, max(step * 0.8, 0.5), height * value / most, name, value)
        for at, (name, value) in enumerate(values.items())
    ]
    return _svg(height, title, inside, "columns")


def curve(values: Sequence[float], threshold: float, title: str, height: int = 140) -> Markup:
    """A falling line, and the threshold as a level one."""
    top = max(*values, threshold, 0.01) * 1.08
    step = WIDTH / max(1, len(values) - 1)
    points = " ".join(f"{at * step:.1f},{height - height * value / top:.1f}" for at, value in enumerate(values))
    level = height - height * threshold / top
    inside = [
        Markup('<polygon class="area" points="0,{} {} {},{}"/>').format(height, points, WIDTH, height),
        Markup('<polyline class="line" points="{}"/>').format(points),
        Markup('<line class="threshold" x1="0" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(WIDTH, level, level),
    ]
    return _svg(height, title, inside, "curve")
