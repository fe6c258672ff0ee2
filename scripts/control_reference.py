"""Write the OpenAPI document of the control API; `just reference` runs this."""

from __future__ import annotations

from pathlib import Path

from headcount.fleet.control_app import openapi_text

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "fleet-control.json"

if __name__ == "__main__":
    PAGE.write_text(openapi_text(), encoding="utf-8")
