# Two commands for a newcomer, each of which sets everything up by itself:
#   make demo   runs the main job on real input       make test   passes every test
.PHONY: demo test setup tools ok fix clean

demo: tools
	@npm run -s demo

test: tools
	@npm run -s ok

ok: test

# npm's own record of the last installation is the time stamp: newer lock file, new installation.
setup: node_modules/.package-lock.json

node_modules/.package-lock.json: package-lock.json package.json
	@echo "make: installing npm packages"
	@npm ci --no-audit --no-fund --loglevel=error
	@touch node_modules/.package-lock.json

# OpenTofu and the test provider, built once from their Go modules into .tools/.
tools: setup
	@npm run -s tools

fix: setup
	@npm run -s fix

clean:
	rm -rf node_modules dist .tools .demo
