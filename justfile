# The one door to every command. `just --list` shows them.
set shell := ["bash", "-euo", "pipefail", "-c"]

python := env("HEADCOUNT_PYTHON", "3.11")
export UV_PROJECT_ENVIRONMENT := ".venv"
export PYTHONHASHSEED := env("PYTHONHASHSEED", "random")
# Thousands of tests start a command: without bytecode each compiles a thousand modules first.
export PYTHONDONTWRITEBYTECODE := ""

bin := ".venv/bin"
oracle := ".venvs/oracle/bin/python"
long := "--timeout 14400 -o faulthandler_timeout=14500"

# List the commands
default:
    @just --list

# Make the environment from the hashed lock
setup:
    uv venv --quiet --allow-existing --python {{ python }} .venv
    uv pip sync --quiet --python .venv --require-hashes requirements/dev.lock
    uv pip install --quiet --python .venv --no-deps --editable .

# Make the environment of the oracles: OpenDP and dp-accounting, apart from ours
setup-oracle:
    uv venv --quiet --allow-existing --python {{ python }} .venvs/oracle
    uv pip sync --quiet --python .venvs/oracle --require-hashes requirements/oracles.lock

# Install what the engine tests need from the system, where it is missing
setup-system:
    command -v java >/dev/null || (apt-get update -q && apt-get install -q -y openjdk-17-jre-headless)
    test -x /usr/lib/postgresql/15/bin/postgres || command -v postgres >/dev/null || (apt-get update -q && apt-get install -q -y postgresql)
    command -v chromium >/dev/null || (apt-get update -q && apt-get install -q -y --no-install-recommends chromium) || echo "No Chromium: tests of pages skip, and say so."

# Build the second client: its packages by their locked hashes, Node from the system's where it is missing
setup-typescript:
    command -v npm >/dev/null || (apt-get update -q && apt-get install -q -y --no-install-recommends nodejs npm)
    cd clients/typescript && npm ci --no-audit --no-fund --loglevel=error && npx tsc

# Write the lock files anew
lock:
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --all-extras --group test --group lint --group docs pyproject.toml -o requirements/dev.lock
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/oracles.in -o requirements/oracles.lock
    for peer in opendp pipelinedp tumult; do uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/peer-$peer.in -o requirements/peer-$peer.lock; done
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/release.in -o requirements/release.lock

# Format the code
format:
    {{ bin }}/ruff format .
    {{ bin }}/ruff check --fix-only .

# Format, lint, types, layers
lint:
    {{ bin }}/ruff format --check .
    {{ bin }}/ruff check .
    {{ bin }}/mypy
    {{ bin }}/lint-imports

# Fast tests: unit, property, rules
test *args:
    {{ bin }}/pytest -q -n 2 tests/unit tests/property tests/rules {{ args }}

# Noise laws, fits, and the oracles
test-statistical *args:
    HEADCOUNT_ORACLE_PYTHON="${HEADCOUNT_ORACLE_PYTHON:-{{ justfile_directory() }}/{{ oracle }}}" {{ bin }}/pytest -q -n 2 tests/statistical {{ args }}

# One test body on DuckDB, PostgreSQL and Spark
test-engines *args:
    {{ bin }}/pytest -q -n 2 --dist loadfile --no-loadscope-reorder tests/engines {{ args }}

# Races, kills, crashes and tampering of the ledger on SQLite and PostgreSQL
test-service *args:
    {{ bin }}/pytest -q tests/service {{ args }}

# The same at full size: hours
test-service-long *args:
    HEADCOUNT_LONG=1 {{ bin }}/pytest -q tests/service {{ long }} {{ args }}

# Whole paths, engines and audits at full size: hours
test-long *args:
    HEADCOUNT_LONG=1 HEADCOUNT_ORACLE_PYTHON="${HEADCOUNT_ORACLE_PYTHON:-{{ justfile_directory() }}/{{ oracle }}}" {{ bin }}/pytest -q tests/e2e tests/engines tests/statistical {{ long }} {{ args }}

# The ledger beside a model in 5,000 sequences, with a million entries, and with results of 2 GB
test-ledger-long *args:
    HEADCOUNT_LONG=1 {{ bin }}/pytest -q -s tests/service/test_model.py tests/service/test_large.py tests/service/test_large_results.py {{ long }} {{ args }}

# A fleet in 10,000 stories that chance makes up, and with 100,000 devices: hours
test-fleet-long *args:
    HEADCOUNT_LONG=1 {{ bin }}/pytest -q -s tests/service/test_fleet_model.py tests/service/test_fleet_simulate.py {{ long }} {{ args }}

# Attack every mechanism and its mutants, as a user can
audit *args:
    {{ bin }}/headcount audit {{ args }}

# Twenty passes: every mutant is flagged in each, no mechanism in any
audit-repeat passes="20":
    {{ bin }}/headcount audit --passes {{ passes }}
    for i in $(seq {{ passes }}); do {{ bin }}/pytest -q -n 2 tests/statistical/mutants/printed tests/statistical/mutants/test_float_noise.py; done

# Whole paths: the wheel, the README, crashes, side channels
test-e2e *args:
    {{ bin }}/pytest -q tests/e2e {{ args }}

# The law of reading: files and frames with and without one record, and damaged files
test-reading *args:
    {{ bin }}/pytest -q -n 2 --dist worksteal tests/reading {{ args }}

# Odd calls of every verb and command: refused with a fix, or a result; never a charge for nothing
test-odd-calls calls="5000":
    HEADCOUNT_ODD_CALLS={{ calls }} {{ bin }}/pytest -q -n 2 tests/odd {{ long }}

# The same odd calls, a few of each
test-odd *args:
    {{ bin }}/pytest -q -n 2 tests/odd {{ args }}

# Service, then whole paths: apart, since service forks; on three processes, since they wait; long files in their turn
test-last *args:
    {{ bin }}/pytest -q -n 3 --dist loadfile --no-loadscope-reorder tests/service {{ args }}
    {{ bin }}/pytest -q -n 3 --dist loadfile --no-loadscope-reorder tests/e2e {{ args }}

# Every test there is
test-all: test test-statistical test-reading test-odd test-engines test-last

# Plans of samples for random budgets: each made, and in less than two seconds
sampling-plans plans="1000":
    HEADCOUNT_SAMPLING_PLANS={{ plans }} {{ bin }}/pytest -q -s tests/e2e/test_sampling_plans.py {{ long }}

# The sensitivity property on 10,000 random tables
property-long:
    HEADCOUNT_EXAMPLES=10000 {{ bin }}/pytest -q tests/property/test_sensitivity.py {{ long }}

# The unit tests on another Python, or some of them; the rules hold whichever reads the source
test-python version *only="tests/unit":
    uv venv --quiet --allow-existing --python {{ version }} .venvs/py{{ version }}
    uv pip sync --quiet --python .venvs/py{{ version }} --require-hashes requirements/dev.lock
    uv pip install --quiet --python .venvs/py{{ version }} --no-deps --editable .
    .venvs/py{{ version }}/bin/pytest -q -n 2 {{ only }}

# The law of reading on 10,000 random CSV files, and on 1,000 tables of every other source
reading-long:
    HEADCOUNT_EXAMPLES=10000 {{ bin }}/pytest -q tests/property/test_reading.py {{ long }}
    HEADCOUNT_RECORDS=1000 {{ bin }}/pytest -q tests/reading/test_law.py tests/engines/test_reading.py {{ long }}

# Damaged files: refused or counted, never a traceback, a cell, or a charge without a result
test-damaged files="2000":
    HEADCOUNT_DAMAGED={{ files }} {{ bin }}/pytest -q tests/reading/test_damaged_files.py {{ long }}

# The oldest engines that may be installed, on what hangs on engines
test-oldest *args: (test-engines-of "oldest" "duckdb==1.4.0" "pyspark==4.0.0" args)

# The newest engines that may be installed, on the same
test-newest *args: (test-engines-of "newest" "duckdb>=2,<3" "pyspark>=4.1,<5" args)

[private]
test-engines-of name duckdb pyspark *args:
    uv venv --quiet --allow-existing --python {{ python }} .venvs/{{ name }}
    uv pip sync --quiet --python .venvs/{{ name }} --require-hashes requirements/dev.lock
    uv pip install --quiet --python .venvs/{{ name }} --upgrade-package duckdb --upgrade-package pyspark '{{ duckdb }}' '{{ pyspark }}'
    uv pip install --quiet --python .venvs/{{ name }} --no-deps --editable .
    .venvs/{{ name }}/bin/pytest -q -n 2 --dist loadfile --no-loadscope-reorder tests/unit/tables tests/engines {{ args }}

# Noise speed beside OpenDP; last line is JSON
bench-noise *args:
    HEADCOUNT_ORACLE_PYTHON="${HEADCOUNT_ORACLE_PYTHON:-{{ justfile_directory() }}/{{ oracle }}}" {{ bin }}/python benchmarks/noise.py {{ args }}

# Our release beside the bare engine; last line is JSON
bench-engine *args:
    {{ bin }}/python benchmarks/engine.py {{ args }}

# Counts under a limit of memory beside the bare engine; last line is JSON
bench-memory *args:
    {{ bin }}/python benchmarks/memory.py {{ args }}

# Counts within a target error beside PCR and Plume; needs HEADCOUNT_DATA; last line is JSON
bench-within *args:
    {{ bin }}/python benchmarks/within.py {{ args }}

# The same count by OpenDP, PipelineDP and Tumult, each in an environment made here; last line is JSON
bench-peers *args:
    {{ bin }}/python benchmarks/peers.py {{ args }}

# Releases into files on Spark, beside writing the bare tally
bench-wide *args:
    {{ bin }}/python benchmarks/wide.py {{ args }}

# Whether the bars of counts hold, by default; needs HEADCOUNT_DATA; last line is JSON
bench-bars *args:
    {{ bin }}/python benchmarks/bars.py {{ args }}

# What plans say to expect beside what releases then have; needs HEADCOUNT_DATA; last line is JSON
bench-expected *args:
    {{ bin }}/python benchmarks/expected.py {{ args }}

# The smallest group a sample can show, beside the paper's bound; last line is JSON
bench-sampling *args:
    {{ bin }}/python benchmarks/sampling.py {{ args }}

# Private quantiles beside OpenDP's; takes HEADCOUNT_DATA; last line is JSON
bench-quantiles *args:
    HEADCOUNT_ORACLE_PYTHON="${HEADCOUNT_ORACLE_PYTHON:-{{ justfile_directory() }}/{{ oracle }}}" {{ bin }}/python benchmarks/quantiles.py {{ args }}
# How near a private bound is to the best one; last line is JSON
bench-bounding *args:
    {{ bin }}/python benchmarks/bounding.py {{ args }}

# Table 1 of contribution bounding, at full size
experiment-bounding *args:
    {{ bin }}/python experiments/contribution_bounding/table_1.py {{ args }}
# Errors of frequencies; real lists need HEADCOUNT_DATA; last line is JSON
bench-frequencies *args:
    {{ bin }}/python benchmarks/frequencies.py {{ args }}
# Errors of learned distributions beside the samples' own; last line is JSON
bench-distribution *args:
    {{ bin }}/python benchmarks/distribution.py {{ args }}

# CSV by our rules beside DuckDB's sniffing reader; last line is JSON
bench-reading *args:
    {{ bin }}/python benchmarks/reading.py {{ args }}

# Charges beside a bare durable insert; last line is JSON
bench-ledger *args:
    {{ bin }}/python benchmarks/ledger.py {{ args }}

# Events of a stream beside reading the lines; last line is JSON
bench-streams *args:
    {{ bin }}/python benchmarks/streams.py {{ args }}

# What a report of a device costs the servers of a fleet; last line is JSON
bench-fleet *args:
    {{ bin }}/python benchmarks/fleet.py {{ args }}

# Every benchmark in its quick mode
bench-quick:
    for bench in noise engine memory ledger reading sampling quantiles bounding frequencies streams distribution fleet; do just "bench-$bench" --quick; done
    if [ -n "${HEADCOUNT_DATA:-}" ]; then just bench-within --quick; just bench-bars --quick; just bench-bars --quick --of events; just bench-expected --quick; fi

# Build the documentation; warnings are errors
docs:
    {{ bin }}/zensical build --clean --strict

# Write the references again: the command line's from --help, Python's from docstrings, the control API's
reference:
    {{ bin }}/python scripts/cli_reference.py
    {{ bin }}/python scripts/api_reference.py
    {{ bin }}/python scripts/control_reference.py

# Show the changelog that the fragments make
changelog:
    {{ bin }}/towncrier build --draft

# Build the wheel
build:
    uv build --quiet --wheel --out-dir dist

# Make the environment of releases: what lists and checks dependencies, apart from ours
setup-release:
    uv venv --quiet --allow-existing --python {{ python }} .venvs/release
    uv pip sync --quiet --python .venvs/release --require-hashes requirements/release.lock

# Ask which locked versions have known holes; asks the network
audit-dependencies:
    .venvs/release/bin/pip-audit --require-hashes --disable-pip --requirement requirements/dev.lock

# Refuse a tag that is not that of the version, the changelog and the citation
check-tag tag:
    {{ bin }}/pytest -q -n 0 tests/rules/test_release.py
    test "{{ tag }}" = "v$({{ bin }}/python -c 'from headcount.version import __version__; print(__version__)')"

# Build what is published: wheel, sources, and the list of all that they depend on
build-release:
    uv build --quiet --out-dir dist
    uv pip compile -q --universal --no-header --no-annotate --no-emit-index-url --python-version 3.11 --all-extras --constraint requirements/dev.lock pyproject.toml -o dist/runtime.txt
    .venvs/release/bin/cyclonedx-py requirements --output-reproducible --output-file dist/headcount.cdx.json dist/runtime.txt
    rm dist/runtime.txt

# All that must pass before a change lands
ci: lint docs test-all
