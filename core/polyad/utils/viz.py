"""Pictures of graphs: see `polyad.inspection.viz`."""

from ..inspection.viz import Picture as Picture, graph as graph
