"""The public surface, and what importing instar does and does not do."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import instar

ROOT = Path(__file__).parents[1]
MODULES = [m.name for m in pkgutil.walk_packages(instar.__path__, "instar.")]

PUBLIC_NAMES = {
    "instar.core.utils.jax": """dataclass field lens_field jit vectorize shard_map linearize
        is_traced no_jax_tracing NotJaxCompatibleError non_differentiable sequential_vmap_with_vjp
        isin kahan_summation key_chain tree_map SupportsTreeMatch tree_scatter_set ScatterArgs
        HasScatterArgs tree_where_broadcast_last tree_concat tree_stack tree_zeros_like
        tree_structure PyTreeDef skip_post_init_if_disabled no_post_init""",
    "instar.core.lens": """lens bind identity_lens const_lens view HasLensFields LensField
        lens_property""",
    "instar.core.typing": "SystemId ParticleId MotifId GroupId InclusionId ExclusionId Label",
    "instar.core.data": "Table Index Buffered add_buffers grow",
    "instar.core.assertion": "runtime_assert with_runtime_assertions RuntimeAssertion",
    "instar.core.result": "Result as_result_function",
    "instar.core.capacity": """Capacity CapacityError FixedCapacity LensCapacity LensCapacityFix
        MultipliedCapacity""",
    "instar.core.propagator": "propagate_and_fix advance",
    "instar.statefunc.memhint": """MemHint SampleMeta itemsize_of output_elems_per_sample
        output_bytes_per_sample default_leaf_hint broadcast_extra_bytes_for_children
        default_op_hint inflate_for_grad""",
    "instar": """single_point calculator ase_potential read_topology over_frames run resume open
        relax md md_state units""",
    "instar.__main__": "main set_up",
    "instar.units": "fs ps bar GPa eV kJ_per_mol kcal_per_mol BOLTZMANN",
    "instar.memory": """calibrate plan Plan Budget find_budget Footprint over_frames run plan_work
        Work Programs HighWater MemoryPlanError OutOfMemoryError BudgetError FrameError""",
    "instar.geometry": "AllParticles Cell Rotation",
    "instar.neighbors": "NeighborList NeighborMatrix Sizes brute_force query HasCell",
    "instar.potentials": """Pair LennardJones Buckingham Morse WeeksChandlerAndersen SoftSphere
        cutoff_coulomb HarmonicTrap UniformField Wall FunctionPotential Sum evaluate
        Ewald ewald ewald_with Exclusions HarmonicBond MorseBond HarmonicAngle CosineAngle
        PeriodicDihedral RyckaertBellemansDihedral HarmonicImproper PeriodicImproper
        DistanceConstraint RigidWater constraints_of""",
    "instar.observables": """Observer observe Series RunningBlocks block_average
        autocorrelation_time effective_samples RadialDistribution Correlation
        mean_square_displacement DensityProfile Rows Observation observed Curve Finding
        velocity_autocorrelation diffusion green_kubo kinetic_energy temperature pressure
        pressure_tensor molecular_pressure_tensor""",
    "instar.dynamics": """DynamicState Part Step step_of Ramp knob normals system_normals contained
        explosions Watch Schedule Observing observing place_of simulate""",
    "instar.dynamics.md": """nve langevin velocity_rescaling nose_hoover cell_rescaling mtk brownian
        start simulate simulate_blocks begin_blocks thermo draw_velocities explosions Ramp step_of
        Part Kick Drift Forces State""",
    "instar.dynamics.relax": """auto fire lbfgs start relaxed outcomes optimizer Optimizer State
        Relaxation longest_force largest_stress measure_of_ase""",
    "instar.storage": """Recording Column open_recording Background write_checkpoint
        read_checkpoint newest_checkpoint write_atomically StorageError""",
    "instar.statefunc": """Edges Sample StateFunction coordinates velocities constant monomials
        gaussians bessel fourier function pair_sum add multiply concatenate einsum
        linear_combination derivative""",
}


def run_python(code: str) -> str:
    run = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("module", PUBLIC_NAMES)
def test_every_promised_name_is_there(module):
    assert set(PUBLIC_NAMES[module].split()) <= set(importlib.import_module(module).__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_exists_and_is_described(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    for name in getattr(loaded, "__all__", ()):
        public = getattr(loaded, name)
        ours = getattr(public, "__module__", "").startswith("instar")
        assert public.__doc__ or not ours, name


def test_the_top_level_list_is_short_and_documented():
    page = (ROOT / "docs" / "handbook" / "python.md").read_text()
    rows = re.findall(r"^\| (`instar\..*?) \|", page, re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`instar\.(\w+)`", row)]
    assert len(instar.__all__) <= 26
    assert sorted(documented) == sorted(instar.__all__) == dir(instar)
    assert all(getattr(instar, name) is not None for name in documented)


def test_pages_and_examples_import_nothing_from_the_application():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    texts = [*pages, *(ROOT / "examples").rglob("*.py")]
    reaching = re.compile(r"^\s*(from|import) instar\.app\b", re.MULTILINE)
    assert [path.name for path in texts if reaching.search(path.read_text())] == []


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {instar.__version__}\n" in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]


def test_importing_changes_nothing():
    out = run_python(
        "import logging, warnings, jax\n"
        "before = dict(jax.config.values), list(logging.root.handlers), list(warnings.filters)\n"
        "import instar, instar.core.data, instar.core.lens, instar.units\n"
        "after = dict(jax.config.values), list(logging.root.handlers), list(warnings.filters)\n"
        "print(before == after)"
    )
    assert out.strip() == "True"


def test_the_core_needs_only_jax_and_numpy():
    out = run_python(
        "import sys\n"
        "for name in ('jaxtyping', 'beartype', 'h5py', 'ase', 'pydantic', 'rich'):\n"
        "    sys.modules[name] = None\n"
        "import instar, jax.numpy as jnp\n"
        "dir(instar), instar.md.nve(0.1), instar.units.fs\n"
        "t = instar.Table.arange(jnp.arange(3.0))\n"
        "print(float(t[instar.Index.arange(3)].sum()))"
    )
    assert out.strip() == "3.0"


def test_only_one_file_touches_private_jax():
    private = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom) and "jax._src" in ast.unparse(node)
    ]
    assert set(private) == {"jax_compat.py"}


def test_only_the_application_sets_jax_options():
    rooms = [path for path in (ROOT / "src").rglob("*.py") if "app" not in path.parts]
    assert [path.name for path in rooms if "jax.config" in path.read_text()] == []


def test_the_source_distribution_holds_what_the_tests_read():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packed = set(build["targets"]["sdist"]["include"])
    assert {page.name for page in ROOT.glob("*.md")} | {"tests", "docs", "tools"} <= packed


def test_files_stay_readable():
    for path in (ROOT / "src").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 500, path


def test_pins_hold_no_addresses():
    for path in ROOT.glob("constraints*.txt"):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9a-z.]+", line) for line in lines), path
