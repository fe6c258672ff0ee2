"""What PostgreSQL charges for Laplace noise from schema 0004 on: what the lattice law costs.

The functions of ``functions_0003`` stay, but for the one that works out costs, which asks this one.
"""

from __future__ import annotations

from headcount.ledger.stores.migrations import functions_0003

INSIDE = ("ledger_laplace(numeric, numeric, numeric, numeric)",)
"""What only the functions themselves call."""

# The steps of ``accounting.laplace``, number by number; l1 is a / b, and the scale c / d.
LAPLACE = """
CREATE FUNCTION {schema}.ledger_laplace(a numeric, b numeric, c numeric, d numeric)
RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    grid numeric := 4294967296;
    pure numeric[] := ARRAY[a * d * a * d, 2 * b * c * b * c];
    rho numeric[];
    epsilon numeric;
    step numeric;
    exp numeric := 1;
    exp_unit numeric := 1;
    sinh numeric := 2;
    sinh_unit numeric := 1;
BEGIN
    IF c = 0 THEN
        RETURN pure;
    END IF;
    epsilon := div(a * d * grid + b * c - 1, b * c);
    step := div(d * grid + c - 1, c);
    IF epsilon >= 64 * grid OR step > 4 * grid THEN
        rho := ARRAY[epsilon, grid];
    ELSE
        FOR j IN REVERSE 32..1 LOOP
            exp_unit := exp_unit * grid * j;
            exp := exp * epsilon + exp_unit;
        END LOOP;
        FOR j IN REVERSE 16..1 LOOP
            sinh_unit := sinh_unit * grid * grid * (2 * j) * (2 * j + 1);
            sinh := sinh * step * step + sinh_unit;
        END LOOP;
        rho := ARRAY[
            epsilon * grid - div((exp - exp_unit) * sinh_unit * grid * grid, exp * sinh),
            grid * grid];
    END IF;
    RETURN CASE WHEN pure[1] * rho[2] <= rho[1] * pure[2] THEN pure ELSE rho END;
END $$
"""
PURE = "rho := ARRAY[v[1] * v[4] * v[1] * v[4], 2 * v[2] * v[3] * v[2] * v[3]];"
ON_LATTICE = "rho := {schema}.ledger_laplace(v[1], v[2], v[3], v[4]);"
COST = functions_0003.COST.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION").replace(
    PURE, ON_LATTICE
)


def functions(schema: str) -> list[str]:
    """The statements that make the functions, for tables in this schema."""
    return [text.format(schema=schema) for text in (LAPLACE, COST)]
