# Two commands on a fresh clone: `make demo` shows a tournament, `make test` checks everything.
# Any Python from 3.11 on will do: make demo PYTHON=python3.12

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
# A broken .venv falls back to the Python it was made from: never install there.
INSTALL = $(BIN)/python -m pip --require-virtualenv --disable-pip-version-check install --quiet -c constraints.txt
CHECK_VENV = $(BIN)/python -c 'import sys; sys.exit((sys.version_info < (3, 11) or sys.prefix == sys.base_prefix) \
	and "$(VENV) is broken or holds a Python older than 3.11: remove $(VENV) and try again")'
DEMO = build/demo
DEMO_BOTS = random minimax:depth=1 minimax:depth=3 minimax:depth=5 mcts:playouts=100 mcts:playouts=1000
# Modules whose every branch is tested; see CONTRIBUTING.md.
CORE = */arena_plugins/contract.py,*/arena_plugins/wire.py,*/arena/referee/*,*/arena/pairing/*,*/arena/rating/*,*/arena_db/store*

.PHONY: demo test check bench book book-answers simulate hostile kill-trials lease-trials cluster-trials ladder-trials store-trials older-trials postgres-trials gomocup-trials time-trials serve-trials numbers installs browsers format lint types contracts coverage clean

demo: $(VENV)/.installed-plain
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@ARENA_HOME=$(DEMO) ARENA_DB=$(DEMO)/arena.db $(BIN)/arena tournament $(DEMO_BOTS) \
		--game connect-four --rounds 4 --rating-interval 40 --srand 1 --name demo
	@echo "The matches are in $(DEMO)/arena.db: arena leaderboard --db $(DEMO)/arena.db. README.md tells how to enter your own bot."

# Two processes, each with whole files: most tests wait for bots and clocks for a part of their time. In the order of the
# folders, not of the number of tests: that would begin the longest files, of one test each, last, beside an idle core.
TESTS_SIDE_BY_SIDE = -n 2 --dist loadfile --no-loadscope-reorder
# The checks run beside the tests, which leave a part of both cores idle; the tests' output waits in a pipe until those
# have told theirs. A failed check does not hide the tests: their summary comes last, and is read.
test: $(VENV)/.installed-test
	@rm -f $(VENV)/.tests-status $(VENV)/.checks-status; \
	{ $(BIN)/python -m pytest $(TESTS_SIDE_BY_SIDE) 2>&1; echo $$? > $(VENV)/.tests-status; } | \
		{ { $(MAKE) -k format lint types contracts 2>&1 </dev/null; echo $$? > $(VENV)/.checks-status; }; cat; }; \
	test "$$(cat $(VENV)/.tests-status $(VENV)/.checks-status | tr '\n' ' ')" = "0 0 "

check: format lint types contracts coverage

# Ours alone; PEERS=1 measures OpenSpiel in turns with us, too, and writes docs/benchmarks.md. Peers that live elsewhere:
# make bench PEERS=1 PEER_PYTHONS="/a/bin/python /b/bin/python". CHECK=1 only warns of ratios that fell.
# alpha-zero-general is in no index: ALPHA_ZERO_GENERAL=/a/clone.
PEER_PYTHONS =
ALPHA_ZERO_GENERAL =
BENCH = $(if $(PEERS),--peers $(PEER_PYTHONS:%=--peer-python %) $(ALPHA_ZERO_GENERAL:%=--alpha-zero-general %)) $(if $(CHECK),--check)
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py $(BENCH)

# Hours of one core: the opening book of Connect Four, which then rebuilds the lists of drawn openings. It goes on
# where it was interrupted, from build/book.
BOOK_PLIES = 8
book: $(VENV)/.installed-test
	$(BIN)/python tests/support/connect_four_book.py --plies $(BOOK_PLIES)

# Many hours of one core: the positions behind the book that the solver needs long for. Every finished shard stays in
# build/answers, and the table is rebuilt from all that are there; several runs side by side share the work.
ANSWER_SECONDS = inf
book-answers: $(VENV)/.installed-test
	$(BIN)/python tests/support/connect_four_answers.py --seconds $(ANSWER_SECONDS)

# The full trials, of which the tests run a small part; see docs/explanation for what they showed.
hostile: $(VENV)/.installed-test
	$(BIN)/python benchmarks/hostile.py --repeats 20

kill-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/kill_trials.py --trials 500
	$(BIN)/python benchmarks/worker_kills.py --kills 200
	$(BIN)/python benchmarks/plan_kills.py --most 20

lease-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/lost_leases.py

# Worker machines are network namespaces of this user: results of four ways to play, then 200 kills and 20 partitions.
cluster-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/cluster_trials.py

# An hour: a ladder that bots join and leave while its coordinator is killed five times; then 50 bots join at once.
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

# Stores on a PostgreSQL server of its own, which this starts: many coordinators, kills of the server, COPY, merges.
postgres-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/postgres_trials.py

# How often intervals of ratings hold the truth, 1,000 simulated fields a row: see docs/explanation/ratings.md.
# Then lengths, errors and estimates of sequential tests, 2,000 a row, the ratings of 200 ladders, and who wins Swiss
# tournaments and knockouts, with the ratings of 200 Swiss tournaments a row, each replayed 80 times.
simulate: $(VENV)/.installed-test
	$(BIN)/python benchmarks/rating_coverage.py
	$(BIN)/python benchmarks/sequential_tests.py
	$(BIN)/python benchmarks/ladders.py
	$(BIN)/python benchmarks/paired_events.py

# An hour: bots with 0.1 s a move on a quiet machine, then beside eight busy processes on two cores.
time-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/time_losses.py --matches 500
	$(BIN)/python benchmarks/time_losses.py --matches 500 --load 8 --cores 2

serve-trials: $(VENV)/.installed-test
	$(BIN)/python benchmarks/serve_load.py

# The figures of every page of a store, and of its JSON, against those of the commands: make numbers STORE=arena.db
STORE = $(DEMO)/arena.db
numbers: $(VENV)/.installed-test
	$(BIN)/python benchmarks/page_numbers.py $(STORE)

gomocup-trials: $(VENV)/.installed-test
	$(BIN)/python tests/support/gomocup_zoo.py --matches 20

# Every way of installing a bot, with each build backend from the package index.
installs: $(VENV)/.installed-test
	$(BIN)/python benchmarks/installs.py

# Pages in a real browser, that of the distribution. COLD_LOADS=20 measures longer, BASE_URL=http://… looks at a server.
COLD_LOADS = 5
BASE_URL =
browsers: $(VENV)/.installed-test
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		{ command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get install -y chromium; } || { \
		echo "install Chromium first: apt install chromium, dnf install chromium, or brew install --cask chromium" >&2; exit 1; }
	$(BIN)/python -m pytest tests/browser -m browser --cold-loads $(COLD_LOADS) $(if $(BASE_URL),--base-url $(BASE_URL))

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
