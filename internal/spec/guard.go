package spec

import (
	"slices"
	"strings"
)

// ofGates are globs of files that decide what is proven, apart from tests. What runs in a task is free to read them, and changes
// them only where a person or the master wrote their path into the task's files.
var ofGates = []string{
	// Divisi's and git's own files
	".divisi/**", "**/.gitattributes", ".gitmodules",
	// continuous integration
	".github/**", "**/.gitlab-ci.y*ml", ".gitlab/**", ".circleci/**", ".buildkite/**", "**/.travis.yml",
	"**/azure-pipelines.y*ml", "**/Jenkinsfile",
	"bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.y*ml", ".woodpecker/**", "**/{codecov,.codecov}.yml",
	"**/sonar-project.properties",
	// linters
	"**/.golangci.*", "**/.eslintrc*", "**/.eslintignore", "**/eslint.config.*",
	"**/{.prettierrc*,biome.json,biome.jsonc,.stylelintrc*}",
	"**/{ruff.toml,.ruff.toml,.flake8,.pylintrc,mypy.ini,.mypy.ini}", "**/{clippy.toml,.clippy.toml,rustfmt.toml,.rustfmt.toml}",
	"**/{.rubocop.yml,.clang-tidy,.clang-format,.editorconfig}",
	"**/.pre-commit-config.y*ml",
	// what builds and starts tests
	"**/{Makefile,GNUmakefile,justfile,Taskfile.y*ml}", "**/*.mk", "**/go.work", "**/{turbo,nx,lerna}.json",
	"**/{jest,vitest,vitest.workspace,playwright,cypress,karma,ava}.config.*", "**/{.mocharc*,.nycrc*,.c8rc*,.taprc,bunfig.toml}",
	"**/{pytest.ini,.pytest.ini,tox.ini,noxfile.py,.coveragerc}", "**/{rust-toolchain,rust-toolchain.toml}",
	"**/{Rakefile,.rspec,phpunit.xml,phpunit.xml.dist,phpstan.neon*,.bazelrc}", "**/*.runsettings",
	".mvn/**", "**/{mvnw,mvnw.cmd,gradlew,gradlew.bat}", "**/gradle/wrapper/**",
	// modules that a Python runner takes for its own
	"**/{unittest,pytest,_pytest,sitecustomize,usercustomize}.py", "{,src/}{unittest,pytest,_pytest}/__init__.py",
}

// ofMachines are globs of files that programs on the machine of a person who merges them act on unasked, or that steer later
// agents.
var ofMachines = strings.Fields(`**/.envrc **/{mise.toml,.mise.toml} **/.vscode/** **/*.code-workspace **/.idea/**
	**/.husky/** **/.githooks/** **/{lefthook,.lefthook}.y*ml **/.devcontainer/** **/.devcontainer.json **/.mcp.json
	**/.claude/** **/.gemini/** **/.cursor/** **/.cursorrules **/.windsurf/** **/.windsurfrules
	**/.{codex,kiro,continue,roo,clinerules,opencode,junie,zed}/** **/{.clinerules,.aider.conf.yml,opencode.json}
	**/{.dir-locals.el,.exrc,.nvim.lua} **/{AGENTS,CLAUDE,CLAUDE.local,GEMINI}.md **/.npmrc **/.yarnrc*
	**/.yarn/{plugins,releases}/** **/.pnpmfile.cjs **/.cargo/** **/pip.conf **/.gitconfig **/.git-blame-ignore-revs`)

// Guarded are the globs of the files that are protected where a project names none.
func Guarded() []string { return slices.Concat(ofGates, ofMachines) }

// What a guarded file is.
const (
	GuardsGates    = "a file of gates, CI or linters"
	GuardsMachines = "a file that programs on a person's machine or later agents act on"
)

// Guard returns what a guarded file is; "" for another one.
func Guard(name string) string {
	if protects(ofMachines, name) != "" {
		return GuardsMachines
	}
	if protects(ofGates, name) != "" {
		return GuardsGates
	}
	return ""
}

// protects returns the first glob of a list that matches a path in any case, since file systems fold it; "" for none.
func protects(globs []string, name string) string {
	name = strings.ToLower(name)
	for _, glob := range globs {
		if matches(strings.ToLower(glob), name) {
			return glob
		}
	}
	return ""
}
