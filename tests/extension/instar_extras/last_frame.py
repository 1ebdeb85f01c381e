"""The last frame of each system, as plain XYZ."""

from instar.app.results.export.format import export_format, path_of


@export_format("last_frame")
def last_frame(trajectory, folder):
    """One small file per system."""
    paths = []
    for system in range(trajectory.systems):
        paths.append(path_of(folder, trajectory, system, "xyz"))
        trajectory.atoms(system).write(paths[-1], format="xyz")
    return paths
