"""A figure that shows itself in a notebook, whatever the notebook was told about pictures. Needs the extra `plot`."""

import io

from matplotlib.figure import Figure

from privtally.plots.text import no_boxes_named


class ShownFigure(Figure):
    """A figure whose picture a notebook displays."""

    def _repr_png_(self) -> bytes:
        room = io.BytesIO()
        with no_boxes_named():
            self.savefig(room, format="png")
        return room.getvalue()
