# Ebb's two commands are `make serve` and `make test`. `make help` lists the rest.

# The kind of torch to install: cpu, cuda or npu. By default what this machine has.
ifndef DEVICE
DEVICE := $(shell scripts/find-device)
endif
# Handed to the command: make serve ARGS="--port 9000 --model ~/models/openpangu"
ARGS ?=
# RAY=1 installs Ray too, for replicas on several machines: make serve RAY=1 ARGS="--replicas 2 --ray-address auto"
RAY ?=
# The Python to make .venv with; by default the first one on PATH from 3.11 to 3.14.
PYTHON ?=
TORCH := 2.13.0
# The one that comes with this torch for CUDA; on a machine without a GPU only `make test-kernels` needs it.
TRITON := 3.7.1
# The oldest PostgreSQL that Ebb supports and the newest, as npm has them: with TLS.
OLDEST_POSTGRES := 14.23.0-beta.17
NEWEST_POSTGRES := 18.4.0-beta.17
# Packages that ship chat templates as models are published with them.
TRL_TEMPLATES := .make/templates/trl-1.16.0
LLAMA_CPP_TEMPLATES := .make/templates/llama-cpp-python-0.3.36
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu

BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt
EXTRAS := $(if $(filter npu,$(DEVICE)),web$(comma)npu,web)
WEB_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' -not -path 'web/dist/*' -not -name schema.d.ts 2>/dev/null)

API_SOURCES := $(shell find app -name '*.py' 2>/dev/null)

# Stamps tell what was done to .venv, so they go when it goes.
ifeq ($(wildcard $(BIN)/python),)
$(shell rm -rf .make)
endif
TORCH_STAMP := .make/torch-$(TORCH)-$(DEVICE)

# What the first process compiled, the hundred that tests start need not compile again.
unexport PYTHONDONTWRITEBYTECODE

# The processes that tests start would import another copy of Ebb, if there is one on this path.
unexport PYTHONPATH

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help serve setup test test-full test-services test-kernels test-deploy test-models test-replicas test-tools test-page test-postgres test-ray test-logins test-proxies test-desktop test-browsers test-clients image clients faults faults-promises faults-api faults-fleet faults-database upgrade-fleet soak lint bench bench-peers bench-tool-calls clean wheel screenshots film translations test-setup web-test

comma := ,

# Three processes for two cores, whatever the machine: tests wait for servers, browsers and the disk. To see one test's
# output as it comes, or to debug: make test ARGS="-n 0 -s -k name".
PYTEST := $(BIN)/python -m pytest -n 3

# Run a command with the checks beside it. They speak after it.
check-beside = $(MAKE) --no-print-directory lint web-test >.make/checks.log 2>&1 & checks=$$!; \
	$(1); tests=$$?; wait $$checks; checked=$$?; cat .make/checks.log; exit $$((tests | checked))

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'
	@echo "  Variables: DEVICE=cpu|cuda|npu (here: $(DEVICE)), RAY=1, ARGS=\"--port 9000 ...\", PYTHON=/path/to/python3.12"

serve: setup ## set everything up, then run the server (ARGS="--port 9000")
	@exec $(BIN)/ebb serve $(ARGS)

setup: .make/ebb $(if $(RAY),.make/ray) app/static/index.html ## set everything up without starting the server

test: test-setup ## check and test everything with small sizes
	@$(call check-beside,$(PYTEST) --timeout 180 $(ARGS))

test-full: export EBB_TEST_SIZE := full
test-full: test-setup $(LLAMA_CPP_TEMPLATES) ## check and test everything with large sizes
	@$(call check-beside,$(PYTEST) --size full $(ARGS))

test-services: wheel test-deploy test-kernels test-models test-replicas test-tools test-page test-postgres test-ray test-logins test-proxies test-desktop test-browsers test-clients ## test the wheel, the image and the charts, the GPU kernels, all architectures, replicas, the benchmarks, the whole page, PostgreSQL, Ray, logins elsewhere, proxies, the window of the desktop, other browsers and the clients

test-kernels: test-setup .make/triton ## simulate the GPU kernels on the CPU and compile them, three minutes
	@PYTHONPATH=.make/triton $(PYTEST) tests/kernels $(ARGS)

test-deploy: test-setup .make/deploy ## check the image, the Compose file and the Helm chart with their own tools, and install the wheel, two minutes
	@PYTHONPATH=.make/deploy TORCH_CPU_INDEX="$(TORCH_CPU_INDEX)" $(BIN)/python -m pytest tests/deploy $(ARGS)

test-models: test-setup $(LLAMA_CPP_TEMPLATES) ## compare every tested architecture with transformers alone, and run the models on the kernels that make test leaves out, a few minutes
	@$(BIN)/python -m pytest -n 2 --size services -m many_models tests/sweep tests/integration/engine tests/integration/models $(ARGS)

test-replicas: test-setup ## run several replicas, pipeline stages and ranks with all that can happen to them, two minutes
	@$(BIN)/python -m pytest -n 2 --size services -m many_processes tests/integration $(ARGS)

test-tools: test-setup ## run every benchmark in small, fuzz the API, and check SCIM with scim2_tester, a minute
	@$(BIN)/python -m pytest -n 2 --size services -m tool tests/integration $(ARGS)

test-page: test-setup ## try in Chromium what the page does besides the main journeys of make test, five minutes
	@$(BIN)/python -m pytest -n 2 --size services -m page tests/e2e $(ARGS)

test-postgres: test-setup .make/postgres-$(OLDEST_POSTGRES) .make/postgres-$(NEWEST_POSTGRES) ## run the tests of the store and of the chats on a PostgreSQL of their own, several servers on it, the oldest and the newest version over TLS, and a file on a disk that fails, seven minutes
	@scripts/get-test-tools postgres
	@scripts/with-postgres $(BIN)/python -m pytest -n 2 -p tests.on_postgres --ignore tests/unit/app/storage/sqlite tests/unit/app/storage tests/unit/app/conversations tests/postgres tests/faults_disk tests/integration/app/routes $(ARGS)
	@POSTGRES=.make/postgres-$(OLDEST_POSTGRES) scripts/with-postgres $(BIN)/python -m pytest -n 2 -p tests.on_postgres --ignore tests/unit/app/storage/sqlite tests/unit/app/storage tests/postgres/test_database.py tests/postgres/test_servers.py tests/postgres/test_takeovers.py tests/postgres/test_hung_connections.py $(ARGS)
	@POSTGRES=.make/postgres-$(NEWEST_POSTGRES) scripts/with-postgres $(BIN)/python -m pytest -n 2 -p tests.on_postgres tests/postgres/test_database.py tests/postgres/test_servers.py tests/postgres/test_hung_connections.py $(ARGS)

test-ray: test-setup .make/ray ## run replicas on a Ray cluster of four machines, all on this one, and servers on PostgreSQL that share them, a minute
	@scripts/with-postgres $(BIN)/python -m pytest -p tests.on_postgres tests/ray $(ARGS)

test-logins: test-setup .make/logins ## test logins at a directory (OpenLDAP) and a SAML provider (pysaml2) of their own, a minute
	@PYTHONPATH=.make/logins $(BIN)/python -m pytest tests/logins $(ARGS)

test-proxies: test-setup ## send any bytes through nginx, HAProxy and Caddy to the server, a minute
	@scripts/get-test-tools proxies
	@$(BIN)/python -m pytest tests/proxies $(ARGS)

test-desktop: test-setup .make/desktop ## open the window of `ebb desktop` on a virtual screen, a minute
	@PYTHONPATH=.make/desktop $(BIN)/python -m pytest tests/desktop $(ARGS)

test-browsers: test-setup ## take ten journeys through the page in Firefox and in WebKitGTK, a minute
	@scripts/get-test-tools browsers
	@$(BIN)/python -m pytest tests/browsers $(ARGS)

test-clients: test-setup ## drive clients of the APIs, each in an environment of its own, against a server
	@$(BIN)/python -m tests.clients.environments
	@$(BIN)/python -m pytest -n 2 --ignore tests/clients/heavy tests/clients $(ARGS)

faults: test-setup ## break Redis and the disk in every way while chats return, and print a table, half an hour
	@$(BIN)/python -m pytest tests/faults tests/faults_tiers -s $(ARGS)

faults-promises: test-setup ## promise the KV of 10,000 prompts while the disk is flooded and the engine killed, an hour (PROMISES=500 for fewer)
	@PROMISES=$(or $(PROMISES),10000) $(BIN)/python -m pytest tests/faults_tiers/test_promises.py -s $(ARGS)

faults-api: test-setup ## kill the server 200 times at random tokens of its answers, 15 minutes
	@$(BIN)/python -m pytest tests/faults_api -s $(ARGS)

faults-fleet: test-setup ## break replicas and servers 300 times while they answer, and print two tables, 50 minutes (FAULTS=30 for fewer)
	@scripts/with-postgres $(BIN)/python -m pytest -p tests.on_postgres tests/faults_fleet/test_replica_faults.py tests/faults_fleet/test_gateway_faults.py -s $(ARGS)

faults-database: test-setup ## break PostgreSQL in every way below one server, two, and shared replicas, while people chat, and print a table, 40 minutes (FAULTS="crash, frozen" and SERVERS="one" for some)
	@scripts/get-test-tools databases
	@$(BIN)/python -m pytest tests/faults_database -s $(ARGS)

upgrade-fleet: test-setup ## restart two servers and three replicas one by one under 100 streams, and print the pauses, two minutes
	@scripts/with-postgres $(BIN)/python -m pytest -p tests.on_postgres tests/faults_fleet/test_rolling_upgrade.py -s $(ARGS)

clients: test-setup ## drive heavy clients, such as Claude Code, Codex and Open WebUI, against a server, 40 minutes with installing them
	@$(BIN)/python -m pytest tests/clients/heavy $(ARGS)

screenshots: test-setup ## take a picture of every view of the page, light, in Chinese, dark and on a phone (build/screenshots; ARGS="empty live" for some)
	@$(BIN)/python -m tests.e2e.screenshots build/screenshots $(ARGS)

film: test-setup ## make the animated picture of a chat that resumes after kill -9 (docs/images/resumed.webp)
	@$(BIN)/python -m tests.e2e.film docs/images/resumed.webp

image: ## build the image of the server with buildah, podman or docker (DEVICE=cpu|cuda)
	@DEVICE="$(filter-out npu,$(DEVICE))" TORCH_CPU_INDEX="$(TORCH_CPU_INDEX)" scripts/build-image

translations: .make/node_modules ## list the texts of the page that each language lacks
	@scripts/npm --silent run translations

wheel: setup ## build the wheel with the page, and check that it is served without Node (build/wheel)
	@$(BIN)/python scripts/check_wheel.py build/wheel

soak: setup .make/dev ## run 64 chats for 30 minutes while Redis breaks every 10 s; JSON and report in bench/results
	@$(BIN)/python -m bench.soak $(ARGS)

lint: .make/dev ## check style, format and types
	@echo "==> Checking style, format and types"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy

bench: setup .make/dev ## compare Ebb's own speed ratios with an earlier version's (ARGS=--update saves a new baseline)
	@$(BIN)/python -m bench.alone $(ARGS)

# A benchmark's module has the name of its target: bench-slow-disk runs bench.slow_disk.
bench-%: setup .make/dev
	@$(BIN)/python -m bench.$(subst -,_,$*) $(ARGS)

bench-fleet: setup .make/dev ## print the tables of a fleet: the policies of routing on two workloads, and prompts and answers apart, 18 minutes
	@$(BIN)/python -m bench.fleet_policies --workloads chats hot-prefix --size 0.5 --out build/bench-fleet
	@$(BIN)/python -m bench.fleet_sim --parts roles

bench-agent-turns: ## compare streams with tools, and turns after a compaction, with those without; JSON and table in bench/results, ten minutes
bench-agents: ## measure how much of the prompts of Claude Code and aider comes from a tier; JSON and tables in bench/results, ten minutes
bench-api: ## measure 1,000 streams, first bytes, lists and hostile requests; JSON and table in bench/results, ten minutes
bench-attention: ## measure attention of the native step as a share of what the machine can do; JSON and table in bench/results
bench-disk: ## compare the disk tier with Redis, with plain reads and with no disk (ARGS="--folder DIR"); JSON and table in bench/results, five minutes
bench-draft-model: ## measure the speed with a draft model whose guesses are right at given rates, on random weights; JSON and table in bench/results
bench-eviction: ## replay a trace of chats against the eviction policies of the CPU tier (ARGS="--traces DIR"); JSON and table in bench/results
bench-fleet-policies: ## compare policies of the choice of a replica on four replicas and in simulation; JSON and tables in bench/results
bench-fleet-sim: ## simulate 1,000 replicas and a million conversations around the router (ARGS="--parts roles" for one part); JSON in bench/results, page in docs
bench-gpu: ## measure a random-weight 7B on a GPU: equality, copies, a returning chat, decodes; JSON and table, ten minutes
bench-gpu-server: ## measure a server on a GPU as its clients see it, on a random-weight 4B; JSON and table in bench/results
bench-growth: ## measure whether memory levels off over 30,000 turns and 30,000 stateless requests; JSON and table in bench/results, 40 minutes
bench-kept-weights: ## compare loads that map packed weights with loads that pack, on random weights; JSON and table in bench/results
bench-loop: ## measure how hostile clients stall the event loop and delay a stream; JSON and table in bench/results
bench-neighbour: ## measure a tenant alongside a hostile one, 50 minutes; JSON and table in bench/results
bench-reuse-curves: ## compare predicted hit rates at other sizes of a tier with replays (ARGS="--traces DIR"); JSON and table in bench/results
bench-page: test-setup ## measure in Chromium how the page streams 20,000 tokens and shows a long chat; JSON and table in bench/results
bench-page-peer: test-setup ## compare the page with Open WebUI's in Chromium, 20 minutes; JSON and table in bench/results
bench-sampler: ## measure what sampling settings add to a step of 32 decodes; JSON and table in bench/results
bench-sampler-vocabulary: ## measure what sampling settings add to a step with 151,936 and 262,144 ids, on random weights; JSON and table in bench/results
bench-several-models: ## measure two models that answer at once, and chats that swap among three models; JSON and table in bench/results, ten minutes
bench-slow-disk: ## measure what a disk that hangs or is slow costs requests that need no disk; JSON and table in bench/results, five minutes
bench-speculation: ## measure the gain of speculation where answers copy their prompts or repeat earlier answers, and its cost elsewhere; JSON and tables in bench/results
bench-start: ## measure the time and memory of a second start
bench-turns: ## measure returning turns by tier; JSON, table and plot in bench/results
bench-weights: ## measure multiplication by weights of each format as a share of what the machine can do, and print a table
bench-weights-memory: ## measure the memory of loaded weights over the size of their GGUF file, and print a table
bench-warm: ## measure chats that are warmed from Redis while the user types; JSON and table in bench/results, ten minutes

bench-peers: setup .make/dev ## compare Ebb with vLLM and llama.cpp; JSON and table in bench/results
	@$(BIN)/python -m bench.peers --torch-cpu-index "$(TORCH_CPU_INDEX)" $(ARGS)

bench-tool-calls: setup .make/dev ## compare how Ebb and vLLM read tool calls out of answers; JSON and table in bench/results, a minute
	@$(BIN)/python -m bench.tool_calls --torch-cpu-index "$(TORCH_CPU_INDEX)" $(ARGS)

clean: ## remove everything that was built or installed here, but keep chats and models
	rm -rf .make .venv app/static web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis

test-setup: setup .make/dev .make/caches $(TRL_TEMPLATES)
	@scripts/get-test-tools
	@echo "==> Preparing the model and the kernels of the tests"
	@PYTHONPATH=. $(BIN)/python scripts/prepare_tests.py "$${EBB_CACHE_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/ebb}"

web-test: .make/node_modules web/src/services/api/schema.d.ts
	@echo "==> Checking and testing the web page"
	@scripts/npm --silent run check
	@scripts/npm --silent test

.make/venv:
	@scripts/make-venv $(PYTHON)
	@mkdir -p .make && touch $@

$(TORCH_STAMP): .make/venv scripts/install_torch.py
	@echo "==> Installing torch $(TORCH) for $(DEVICE) (200 MB for the CPU, several GB with CUDA)"
	@case "$(DEVICE)" in cpu|cuda|npu) ;; *) echo "DEVICE=$(DEVICE) is none of cpu, cuda, npu." >&2; exit 1;; esac
	@$(BIN)/python scripts/install_torch.py $(TORCH) $(DEVICE) $(TORCH_CPU_INDEX)
	@rm -f .make/torch-* && touch $@

.make/ebb: $(TORCH_STAMP) pyproject.toml constraints.txt scripts/stand_ins.py
	@echo "==> Installing Ebb and what it depends on (half a GB, a minute or two)"
	@$(BIN)/python scripts/stand_ins.py $(DEVICE)
	@$(PIP_INSTALL) --editable '.[$(EXTRAS)]' || { echo "Installing failed; the reason is above. Run the same command again to go on." >&2; exit 1; }
	@touch $@

.make/dev: .make/ebb
	@echo "==> Installing what the tests depend on"
	@$(PIP_INSTALL) --editable '.[$(EXTRAS),dev]' || { echo "Installing failed; the reason is above. Run the same command again to go on." >&2; exit 1; }
	@touch $@

.make/ray: .make/ebb
	@echo "==> Installing Ray (80 MB)"
	@$(PIP_INSTALL) --editable '.[$(EXTRAS),ray]' || { echo "Installing failed; the reason is above. Run the same command again to go on." >&2; exit 1; }
	@touch $@

.make/caches: .make/dev
	@echo "==> Compiling the tests, and reading the types of what they depend on"
	@$(BIN)/python scripts/fill_caches.py
	@touch $@

.make/triton: .make/dev
	@echo "==> Installing triton $(TRITON) beside .venv (200 MB)"
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --target $@ triton==$(TRITON)

$(TRL_TEMPLATES) $(LLAMA_CPP_TEMPLATES): | .make/dev
	@echo "==> Getting the chat templates of $(notdir $@) (trl 1 MB, llama-cpp-python 77 MB)"
	@scripts/get-templates $@

.make/postgres-%: .make/ebb
	@echo "==> Getting PostgreSQL $* (20 MB)"
	@scripts/get-postgres $* $@

.make/deploy: .make/dev tests/deploy/requirements.txt
	@echo "==> Installing the tools for images and charts (150 MB)"
	@rm -rf $@
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --target $@ --requirement tests/deploy/requirements.txt

.make/desktop: .make/dev
	@scripts/get-test-tools desktop
	@echo "==> Installing the library of ebb desktop beside .venv (900 MB)"
	@$(PIP_INSTALL) --target $@ 'pywebview[pyside6]==6.2.1'

.make/logins: .make/ebb
	@scripts/get-test-tools logins
	@echo "==> Compiling python-ldap and installing pysaml2 beside .venv"
	@$(PIP_INSTALL) --quiet --target $@ python-ldap pysaml2

.make/node_modules: .make/ebb web/package-lock.json
	@echo "==> Installing what the web page is built with"
	@scripts/npm ci --no-audit --no-fund --loglevel=error || { echo "npm ci failed; the reason is above. Run the same command again to go on." >&2; exit 1; }
	@touch $@

# What the page knows of the server's API is checked against what the server says of it. (The build needs no types.)
web/src/services/api/schema.d.ts: .make/ebb .make/node_modules $(API_SOURCES)
	@$(BIN)/python -m app.openapi | scripts/npm --silent run types >$@

app/static/index.html: .make/node_modules $(WEB_SOURCES)
	@echo "==> Building the web page"
	@scripts/npm --silent run build
	@touch $@
