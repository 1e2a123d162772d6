# Two commands for a newcomer, each of which sets everything up by itself:
#   make demo   runs the main job on real input       make test   passes every test
# They need git, make, Node.js with npm, and Go.
.PHONY: demo test ok setup tools cluster fix clean

demo: tools
	@npm run -s demo

test: tools
	@npm run -s ok

ok: test

# The npm packages, among them the Node that everything here runs on.
setup:
	@command -v npm >/dev/null || \
	  { echo "make: npm is needed and not on PATH; install Node.js (https://nodejs.org)" >&2; exit 1; }
	@node_modules/.bin/node tools/setup/main.ts 2>/dev/null || \
	  { echo "make: installing the npm packages"; npm ci --no-audit --no-fund --loglevel=error; }

# OpenTofu and the test provider, built once from their Go modules into .tools/.
tools: setup
	@npm run -s tools

# A real Kubernetes API server for test/real/*-cluster.test.ts, built once from Go modules (about
# ten minutes). "make test" skips these files without it, and says so; with CI set it builds it.
cluster: setup
	@npm run -s cluster

fix: setup
	@npm run -s fix

clean:
	rm -rf node_modules dist dist.making-* dist.old-* .tools .demo
