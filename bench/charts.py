"""Charts of bench/record, drawn by matplotlib (Debian's python3-matplotlib, which `./dev setup` installs)."""

import common

try:
    import matplotlib
    from matplotlib.figure import Figure
except ImportError:
    common.fail("matplotlib draws the charts and is not installed: './dev setup' installs it for /usr/bin/python3; elsewhere"
                " 'pip install matplotlib', and run 'python3 bench/record'")

# Text as outlines: the same width whatever fonts a reader has, so that nothing is cut off. The same figures give the same file.
matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "leeward", "font.family": "DejaVu Sans", "font.size": 9})
COLOURS = ["#3b6ea5", "#c8743a", "#5a9a5a", "#8a6fae", "#888888"]


def finish(figure, path, columns, axes):
    """Draws the legend of the axes in so many columns (0: none), and writes the SVG file."""
    if columns:
        handles, labels = axes.get_legend_handles_labels()
        # Below the axes; the tight box makes room. ("outside lower center" needs matplotlib 3.7.)
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=columns, frameon=False)
    # Without a date the file changes only if the figures do.
    figure.savefig(path, format="svg", bbox_inches="tight", pad_inches=0.1, metadata={"Date": None})


def bars(path, title, axis, labels, series):
    """Horizontal bars into an SVG file. labels: one a group; series: (name, values), a value a label, None where there is none.
    A line marks 1 on the axis of ratios."""
    thick = 0.8 / len(series)
    figure = Figure(figsize=(8.5, 1.1 + len(labels) * max(0.28, 0.19 * len(series))), layout="constrained")
    axes = figure.add_subplot()
    for n, (name, values) in enumerate(series):
        places = [k + (n - (len(series) - 1) / 2) * thick for k, value in enumerate(values) if value is not None]
        drawn = axes.barh(places, [v for v in values if v is not None], thick * 0.92, color=COLOURS[n % len(COLOURS)], label=name)
        axes.bar_label(drawn, fmt="%.2f", padding=3, fontsize=8)
    axes.axvline(1, color="#333333", linewidth=0.8, linestyle=":", zorder=0)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.margins(x=0.1, y=0.02)
    axes.set_xlabel(axis)
    axes.set_title(title, loc="left", fontweight="bold", pad=10)
    axes.spines[["top", "right"]].set_visible(False)
    finish(figure, path, min(3, len(series)) if len(series) > 1 else 0, axes)


def lines(path, title, axis, sizes, panels):
    """Lines into an SVG file, a panel each. sizes: the places on the axis, drawn as logarithms; panels: (name, series); series:
    (name, values), a value a size."""
    figure = Figure(figsize=(8.5, 2.6), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (name, series) in zip(all_axes, panels):
        for n, (label, values) in enumerate(series):
            axes.plot(sizes, values, marker="o", markersize=3, linewidth=1.2, color=COLOURS[n % len(COLOURS)], label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(s) for s in sizes])
        axes.set_ylim(bottom=0)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(axis, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    finish(figure, path, len(panels[0][1]), all_axes[0])


def curves(path, title, across, up, series):
    """Lines over logarithmic axes into an SVG file. series: (name, places, values), a value a place."""
    figure = Figure(figsize=(8.5, 5), layout="constrained")
    axes = figure.add_subplot()
    for n, (name, places, values) in enumerate(series):
        style = ["-", "--", ":"][n // len(COLOURS) % 3]
        axes.plot(places, values, style, color=COLOURS[n % len(COLOURS)], marker="o", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title, loc="left", fontweight="bold", pad=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.5)
    finish(figure, path, 3, axes)
