"""Write the reference of configurations, which is made from declarations: tools/reference.py."""

from pathlib import Path

from instar.app.config.reference import reference

PAGE = Path(__file__).parents[1] / "docs" / "handbook" / "configuration.md"

if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"Wrote {PAGE}.")
