# Two commands for a newcomer, each of which sets everything up by itself:
#   make demo   runs the main job on real input       make test   passes every test
# They need git, make, Node.js with npm, and Go.
.PHONY: demo test e2e ok setup tools cluster fix clean

demo: tools
	@npm run -s demo

test: tools
	@npm run -s ok

# What needs a whole Kubernetes cluster: it is built (about twenty minutes, once), started, and
# gone without a trace afterwards. Where there can be none, it says why and skips.
e2e: tools
	@npm run -s cluster -- build
	@npm run -s e2e

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

# A real Kubernetes cluster on this machine, built once from Go modules (about twenty minutes) and
# started; "npm run cluster" says what else one may do with it, such as ending it.
cluster: setup
	@npm run -s cluster -- up

fix: setup
	@npm run -s fix

clean:
	rm -rf node_modules dist dist.making-* dist.old-* .tools .demo
