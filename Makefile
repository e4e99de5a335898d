# What people do here. CI calls the same: see .ci/run.
.PHONY: setup demo test check fmt bench controlplane controlplane-next

setup:
	@scripts/setup

demo: setup ## The main job on the embedded cluster; REAL=1 for the real control plane, ARGS=--keep to leave it up
	@.venv/bin/python -m scripts.demo $(if $(REAL),--real) $(ARGS)

test: setup ## Every test; builds the real control plane on first use if Go is there
	@scripts/test

check: setup ## Style, types, walls between rooms, manifests, Terraform
	@scripts/check

fmt: setup
	@scripts/fmt

bench: setup ## Ratios against named rivals, also written to build/bench.json; ARGS=--full for all at full size
	@.venv/bin/python -m tests.bench $(ARGS)

controlplane: setup ## The tests on a real control plane alone
	@scripts/controlplane
	@scripts/karpenter
	@.venv/bin/python -m pytest -m controlplane

controlplane-next: setup ## The same on the newest Kubernetes minor
	@CONTROLPLANE_PROGRAMS="$$(scripts/controlplane --next)" .venv/bin/python -m pytest tests/controlplane
