"""Two kinds of plots, as small SVG files that read well on light and dark pages."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 70, 140, 40, 50
COLOURS = {"tidings": "#2563eb", "redis": "#dc2626", "mariadb": "#d97706", "bare": "#6b7280"}
SPARE = ["#2563eb", "#059669", "#9333ea", "#d97706", "#db2777", "#374151"]


def colour(name, index):
    return COLOURS.get(name, SPARE[index % len(SPARE)])


def number(value):
    for limit, divisor, unit in ((1e6, 1e6, "M"), (1e3, 1e3, "k")):
        if abs(value) >= limit:
            return f"{value / divisor:g}{unit}"
    return f"{value:g}"


def page(title, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" '
        f'role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>', *parts, "</svg>", ""])


def scale(values, log, low, high):
    """A function from values to pixels, and where to put ticks."""
    if log:
        first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        last = max(last, first + 1)
        ticks = [10.0 ** e for e in range(first, last + 1)]
        return lambda v: low + (math.log10(v) - first) / (last - first) * (high - low), ticks
    top = max(values) * 1.05 or 1
    step = 10 ** math.floor(math.log10(top / 4)) if top else 1
    step = next(s * step for s in (1, 2, 5, 10) if top / (s * step) <= 6)
    return lambda v: low + v / top * (high - low), [i * step for i in range(int(top / step) + 1)]


def axes(x_title, y_title, x, y):
    """Both of them, each as scale() gives it."""
    parts = []
    (to_x, x_ticks), (to_y, y_ticks) = x, y
    for tick in y_ticks:
        at = to_y(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e5e7eb"/>'
                     f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in x_ticks:
        parts.append(f'<text x="{to_x(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_title)}</text>'
                 f'<text transform="rotate(-90 16 {HEIGHT / 2})" x="16" y="{HEIGHT / 2}" text-anchor="middle">'
                 f"{escape(y_title)}</text>")
    return parts


def lines(title, x_title, y_title, series, log_x=True, log_y=True):
    """series: {name: [(x, y), ...]}"""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    to_x, x_ticks = scale(xs, log_x, LEFT, WIDTH - RIGHT)
    to_y, y_ticks = scale(ys, log_y, HEIGHT - BOTTOM, TOP)
    parts = axes(x_title, y_title, (to_x, x_ticks), (to_y, y_ticks))
    for index, (name, points) in enumerate(series.items()):
        shade = colour(name, index)
        path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{shade}" stroke-width="2"/>')
        parts += [f'<circle cx="{to_x(x):.1f}" cy="{to_y(y):.1f}" r="3" fill="{shade}"/>' for x, y in points]
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{to_y(points[-1][1]) + 4:.1f}" fill="{shade}">{escape(name)}</text>')
    return page(title, parts)


def curves(title, x_title, y_title, series):
    """Many points a line, and both scales from zero; the names in a corner, since lines end where they like."""
    to_x, x_ticks = scale([x for points in series.values() for x, _ in points], False, LEFT, WIDTH - RIGHT)
    to_y, y_ticks = scale([y for points in series.values() for _, y in points], False, HEIGHT - BOTTOM, TOP)
    parts = axes(x_title, y_title, (to_x, x_ticks), (to_y, y_ticks))
    for index, (name, points) in enumerate(series.items()):
        path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(name, index)}" stroke-width="1.5"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{TOP + 14 + index * 18}" fill="{colour(name, index)}">{escape(name)}</text>')
    return page(title, parts)


def bars(title, y_title, groups):
    """groups: {label: {name: value}}; the values above the bars."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    to_y, ticks = scale([v for group in groups.values() for v in group.values()], False, HEIGHT - BOTTOM, TOP)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = room * 0.8 / len(names)
    parts = [f'<text transform="rotate(-90 16 {HEIGHT / 2})" x="16" y="{HEIGHT / 2}" text-anchor="middle">'
             f"{escape(y_title)}</text>"]
    for tick in ticks:
        y = to_y(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e7eb"/>'
                     f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for at, (label, group) in enumerate(groups.items()):
        left = LEFT + at * room + room * 0.1
        parts.append(f'<text x="{left + room * 0.4:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" font-size="11">'
                     f"{escape(label)}</text>")
        for index, name in enumerate(names):
            if name in group:
                y = to_y(group[name])
                parts.append(f'<rect x="{left + index * width:.1f}" y="{y:.1f}" width="{width * 0.9:.1f}" '
                             f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{colour(name, index)}"/>')
    for index, name in enumerate(names):
        y = TOP + 10 + index * 20
        parts.append(f'<rect x="{WIDTH - RIGHT + 10}" y="{y - 10}" width="12" height="12" fill="{colour(name, index)}"/>'
                     f'<text x="{WIDTH - RIGHT + 28}" y="{y}">{escape(name)}</text>')
    return page(title, parts)
