"""Print what is installed beside this interpreter as constraints: names and versions alone."""

from importlib.metadata import distributions

SKIPPED = {"instar", "pip", "setuptools", "wheel"}

print("# What `make test` and CI install: pinned versions, no addresses. Refresh: `make pins`.")
installed = {(d.name, d.version) for d in distributions() if d.name not in SKIPPED}
for name, version in sorted(installed, key=lambda pair: pair[0].lower()):
    print(f"{name}=={version}")
