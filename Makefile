# Two commands on a fresh clone: `make demo` shows a tournament, `make test` checks everything.
# Python 3.11 or later is required: make demo PYTHON=python3.12

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
# A broken .venv falls back to the Python that created it: never install there.
INSTALL = $(BIN)/python -m pip --require-virtualenv --disable-pip-version-check install --quiet -c constraints.txt
CHECK_VENV = $(BIN)/python -c 'import sys; sys.exit((sys.version_info < (3, 11) or sys.prefix == sys.base_prefix) \
	and "$(VENV) is broken or holds a Python older than 3.11: remove $(VENV) and try again")'
DEMO = build/demo
DEMO_BOTS = random minimax:depth=1 minimax:depth=3 minimax:depth=5 mcts:playouts=100 mcts:playouts=1000
# Modules whose every branch is tested; see CONTRIBUTING.md.
CORE = */arena_plugins/contract.py,*/arena_plugins/wire.py,*/arena/referee/*,*/arena/pairing/*,*/arena/rating/*,*/arena_db/store*

.PHONY: demo test check bench book book-answers move-order simulate simulate-scale hostile kill-trials lease-trials cluster-trials ladder-trials store-trials older-trials test-on-postgres postgres-trials gomocup-trials time-trials serve-trials numbers installs browsers mutations shuffled format lint types contracts coverage clean

demo: $(VENV)/.installed-plain
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@ARENA_HOME=$(DEMO) ARENA_DB=$(DEMO)/arena.db $(BIN)/arena tournament $(DEMO_BOTS) \
		--game connect-four --rounds 4 --rating-interval 40 --srand 1 --name demo
	@echo "The matches are in $(DEMO)/arena.db: arena leaderboard --db $(DEMO)/arena.db. README.md describes how to enter your own bot."

# Four processes on two cores, each with whole files, because tests wait a quarter of their time for bots and clocks.
# One of them runs all of tests/house, which parses every source (tests/support/house_scheduling.py).
# Files run in the order of the folders, not of their number of tests, which would start the longest files, of one test
# each, last.
TESTS_SIDE_BY_SIDE = -n 4 --dist loadfile --no-loadscope-reorder
# The checks run in parallel with the tests, which leave part of both cores idle; the tests' output waits in a pipe until
# the checks have printed theirs. The tests' summary comes last, so a failed check does not hide it.
# Pytest keeps the compiled tests even if the environment forbids bytecode; otherwise each of its processes would compile
# all of them in every run, for ten seconds of CPU.
test: export PYTHONDONTWRITEBYTECODE =
# Compiled first: bots and their starters run without writing bytecode, and each would compile what it imports anew.
test: $(VENV)/.installed-test
	@$(BIN)/python -m compileall -q arena plugins bots db alembic tests/support benchmarks
	@rm -f $(VENV)/.tests-status $(VENV)/.checks-status; \
	{ $(BIN)/python -m pytest $(TESTS_SIDE_BY_SIDE) 2>&1; echo $$? > $(VENV)/.tests-status; } | \
		{ { $(MAKE) -k format lint types contracts 2>&1 </dev/null; echo $$? > $(VENV)/.checks-status; }; cat; }; \
	test "$$(cat $(VENV)/.tests-status $(VENV)/.checks-status | tr '\n' ' ')" = "0 0 "

check: format lint types contracts coverage

# Our side only; PEERS=1 also measures OpenSpiel, alternating, and writes docs/benchmarks.md. Peers in other environments:
# make bench PEERS=1 PEER_PYTHONS="/a/bin/python /b/bin/python". CHECK=1 only warns of ratios that fell.
# alpha-zero-general is in no package index: ALPHA_ZERO_GENERAL=/a/clone.
PEER_PYTHONS =
ALPHA_ZERO_GENERAL =
BENCH = $(if $(PEERS),--peers $(PEER_PYTHONS:%=--peer-python %) $(ALPHA_ZERO_GENERAL:%=--alpha-zero-general %)) $(if $(CHECK),--check)
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py $(BENCH)

# Takes hours of one core: computes the opening book of Connect Four, then rebuilds the lists of drawn openings. An
# interrupted run continues from build/book.
BOOK_PLIES = 8
book: $(VENV)/.installed-test
	$(BIN)/python tests/support/connect_four_book.py --plies $(BOOK_PLIES)

# Takes many hours of one core: computes the positions beyond the book that take the solver long. Every finished shard stays
# in build/answers and is added to the table of the package; several concurrent runs share the work.
ANSWER_SECONDS = inf
book-answers: $(VENV)/.installed-test
	$(BIN)/python tests/support/connect_four_answers.py --seconds $(ANSWER_SECONDS)

# Takes a few minutes: fits the order in which the solver of Connect Four tries moves to measured searches.
move-order: $(VENV)/.installed-test
	$(BIN)/python tests/support/connect_four_order.py

# The full trials, of which the tests run a small part; docs/explanation has their results.
hostile: $(VENV)/.installed-test
	$(BIN)/python benchmarks/hostile.py --repeats 20

kill-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/kill_trials.py --trials 500
	$(BIN)/python benchmarks/worker_kills.py --kills 200
	$(BIN)/python benchmarks/plan_kills.py --most 20

lease-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/lost_leases.py

# Worker machines are network namespaces of this user: compares four ways to play, then 200 kills,
# 8 trainings with a kill each, and 20 partitions.
# Then machines on loopback: throughput beside local play, delays, joins, orders, memory of the scheduler; and what
# a thousand slots cost the coordinator and the scheduler.
cluster-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/cluster_trials.py
	$(BIN)/python benchmarks/cluster_trials.py --postgres --trainings 0 --partitions 0
	$(BIN)/python benchmarks/cluster_speed.py
	$(BIN)/python benchmarks/thousand_slots.py

# Takes an hour: a ladder that bots join and leave while its coordinator is killed five times; then 50 bots join at once.
ladder-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/ladder_hour.py --minutes 60
	$(BIN)/python benchmarks/ladder_joins.py

store-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/store_faults.py
	$(BIN)/python benchmarks/store_kills.py
	$(BIN)/python benchmarks/power_loss.py
	$(BIN)/python benchmarks/damaged_stores.py

# Stores that earlier programs left in the middle of an event, one for each revision of the schema in the history.
older-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/older_stores.py

# All tests of the store on a PostgreSQL server, too; `make test` runs one case of each there. ARENA_TEST_POSTGRES is the URL
# of a server to use instead of the one that the tests install and start.
test-on-postgres: $(VENV)/.installed-test
	ARENA_TEST_ON_POSTGRES=1 $(BIN)/python -m pytest tests/unit/arena_db

# Starts a PostgreSQL server of its own: many coordinators, kills of the server, COPY, merges.
postgres-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/postgres_trials.py

# How often intervals of ratings contain the truth, 1,000 simulated fields per row: see docs/explanation/ratings.md.
# Then lengths, errors and estimates of sequential tests, 2,000 per row, the ratings of 200 ladders, and how often the best
# bot wins Swiss tournaments and knockouts, with the ratings of 200 Swiss tournaments per row, each replayed 80 times.
simulate: $(VENV)/.installed-test
	$(BIN)/python benchmarks/rating_coverage.py
	$(BIN)/python benchmarks/sequential_tests.py
	$(BIN)/python benchmarks/ladders.py
	$(BIN)/python benchmarks/paired_events.py

# Ten million matches: an hour of a quiet core and 15 GB of disk. What is measured on the way: docs/explanation/scale.md.
# MARKS="100000000" fills it further by hand.
SCALE = build/scale
MARKS = 100000 300000 1000000 3000000 10000000
simulate-scale: $(VENV)/.installed-test
	@mkdir -p $(SCALE)
	$(BIN)/python benchmarks/simulate_scale.py --db $(SCALE)/scale.db --report $(SCALE)/scale.json --marks $(MARKS)

# Takes an hour: bots with 0.1 s per move on a quiet machine, then beside eight busy processes on two cores.
time-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/time_losses.py --matches 500
	$(BIN)/python benchmarks/time_losses.py --matches 500 --load 8 --cores 2

serve-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/serve_load.py

# Compares the figures of every page of a store, and of its JSON, with those of the commands: make numbers STORE=arena.db
STORE = $(DEMO)/arena.db
numbers: $(VENV)/.installed-test
	$(BIN)/python benchmarks/page_numbers.py $(STORE)

gomocup-trials: $(VENV)/.installed-test
	$(BIN)/python tests/support/gomocup_zoo.py --matches 20

# Every way of installing a bot, with each build backend from the package index.
installs: $(VENV)/.installed-test
	$(BIN)/python benchmarks/installs.py

# Pages in a real browser, the distribution's Chromium. COLD_LOADS=20 measures longer, BASE_URL=http://… tests a server.
COLD_LOADS = 5
BASE_URL =
browsers: $(VENV)/.installed-test
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		{ command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get install -y chromium; } || { \
		echo "install Chromium first: apt install chromium, dnf install chromium, or brew install --cask chromium" >&2; exit 1; }
	$(BIN)/python -m pytest tests/browser -m browser --cold-loads $(COLD_LOADS) $(if $(BASE_URL),--base-url $(BASE_URL))

# Puts each fault of tests/mutations into a copy of the tree and runs the test that must notice it: about an hour on two
# cores. ROOM="rating referee" runs these tables only, ONLY=sprt the entries with that text, SIDE_BY_SIDE=1 one copy at a time.
ROOM =
ONLY =
SIDE_BY_SIDE = 2
mutations: $(VENV)/.installed-test
	$(BIN)/python tests/support/mutation_runs.py --side-by-side $(SIDE_BY_SIDE) $(if $(ROOM),--room $(ROOM)) \
		$(if $(ONLY),--only "$(ONLY)")

# Runs the tests of packages whose tests are fast and need few processes, in random order, RUNS times: half an hour on two
# cores. A failure names its seed: make shuffled RUNS=1 SEED=17.
RUNS = 100
SEED = 1
FAST_ROOMS = arena/content arena/games arena/live arena/pages arena/pairing arena/rating arena/referee arena/results \
	arena/schedules arena/shelf arena/training arena_bots/keras_wdl arena_bots/search arena_bots/td_lambda arena_plugins
shuffled: $(VENV)/.installed-test
	$(BIN)/python tests/support/shuffled_runs.py --runs $(RUNS) --seed $(SEED) $(FAST_ROOMS:%=tests/unit/%)

format: $(VENV)/.installed-test
	$(BIN)/ruff format --check .

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .

types: $(VENV)/.installed-test
	$(BIN)/basedpyright --pythonpath $(BIN)/python

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports --no-logo

coverage: $(VENV)/.installed-test
	$(BIN)/python -m pytest --cov --cov-report= --cov-fail-under=95
	$(BIN)/coverage report --show-missing --include='$(CORE)' --fail-under=100

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is not on PATH: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is older than 3.11: name a newer one, as in make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-plain: $(BIN)/python pyproject.toml constraints.txt
	@$(CHECK_VENV)
	@echo "Installing bot-arena into $(VENV) (about a minute) ..."
	$(INSTALL) -e .
	@touch $@

# What the tests need includes what the demo needs.
$(VENV)/.installed-test: $(BIN)/python pyproject.toml constraints.txt
	@$(CHECK_VENV)
	@echo "Installing bot-arena with all extras into $(VENV) (several minutes, some gigabytes) ..."
	$(INSTALL) -e '.[all,test]'
	@touch $(VENV)/.installed-plain $@
