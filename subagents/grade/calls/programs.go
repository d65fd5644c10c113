package calls

import (
	"slices"
	"strings"
)

// Role is a program's use of the files that it opens.
type Role int

// The roles. Touches is that of formatters, searches, copies and git: they open every file and understand none. Checks is that of
// programs that only read code. Compiles and Runs name the languages. Neutral opens no file of the tree, Own is a program that
// the tree builds.
const (
	Unknown Role = iota
	Neutral
	Own
	Touches
	Checks
	Compiles
	Runs
)

// Program is the action of a program.
type Program struct {
	Role      Role
	Languages []string
}

// The languages that programs compile or run, as Languages of package grade names them.
const (
	Go         = "Go"
	C          = "C"
	Rust       = "Rust"
	Java       = "Java"
	Kotlin     = "Kotlin"
	Scala      = "Scala"
	CSharp     = "C#"
	Swift      = "Swift"
	TypeScript = "TypeScript"
	JavaScript = "JavaScript"
	Python     = "Python"
	Ruby       = "Ruby"
	PHP        = "PHP"
	Shell      = "shell"
	Perl       = "Perl"
	Lua        = "Lua"
)

var programs = table()

func table() map[string]Program {
	all := map[string]Program{}
	for _, group := range []struct {
		role      Role
		languages []string
		names     string
	}{
		{Neutral, nil, `cd echo printf true false : test [ [[ set unset export local readonly declare shift trap wait exit
			return
			break continue sleep mkdir rmdir rm mv ln chmod mktemp pwd which command type hash umask ulimit date uname
			hostname basename dirname realpath kill id whoami nproc seq popd getopts let tput pip pip3 ldconfig shopt
			read corepack mkfifo yes expr`},
		{Touches, nil, `gofmt goimports gofumpt gci golines prettier prettierd black isort autopep8 yapf autoflake pyupgrade
			clang-format rustfmt shfmt dprint ktfmt ktlint scalafmt swiftformat swift-format csharpier php-cs-fixer
			pint stylua perltidy standardrb nixfmt taplo terraform buf buildifier grep egrep fgrep rg ag ack git-grep
			find fd cp rsync tar zip unzip gzip cat head tail wc sort uniq diff cmp sed awk gawk mawk tr cut tee xxd
			od hexdump strings file md5sum sha1sum sha256sum cksum b2sum touch install dd git hg svn gh addlicense
			license-eye licensecheck reuse scancode typos codespell misspell cspell cloc scc tokei du ls stat tree
			pre-commit lefthook husky lint-staged pre-commit-run detect-secrets gitleaks trufflehog ctags cscope
			doxygen sphinx-build mkdocs docker podman buildah kaniko skopeo scp ssh curl wget editorconfig-checker ec
			jscpd sonar-scanner semgrep trivy grype syft snyk codeql ast-grep sg comby`},
		{Checks, nil, `eslint tslint jshint standard xo oxlint biome stylelint htmlhint markdownlint markdownlint-cli2 remark
			vale ruff flake8 pylint pyflakes pycodestyle pydocstyle bandit mypy pyright basedpyright pyre pytype
			vulture shellcheck bashate rubocop reek brakeman sorbet srb steep phpstan psalm phpcs phpmd perlcritic
			luacheck hadolint yamllint actionlint revive errcheck govulncheck gosec cppcheck clang-tidy cpplint detekt
			checkstyle pmd spotbugs swiftlint cargo-deny cargo-audit depcheck knip madge jsonlint ajv check-jsonschema
			spectral sqlfluff tflint kubeconform kubeval helm ansible-lint svlint`},
		{Compiles, []string{Go}, `golangci-lint staticcheck nilaway gopls`},
		{Compiles, []string{C}, `gcc cc g++ c++ clang clang++ cpp ld ar ranlib nm strip as objcopy gfortran nasm yasm ninja
			samu cmake
			meson ctest valgrind configure autoreconf libtool gcov lcov emcc emmake emcmake musl-gcc icc icx icpx`},
		{Compiles, []string{Rust}, `rustc`},
		{Compiles, []string{Java, Kotlin, Scala}, `mvn mvnw mvnd gradle gradlew javac java kotlinc scalac sbt mill`},
		{Compiles, []string{CSharp}, `dotnet msbuild csc mcs`},
		{Compiles, []string{Swift, C}, `swift swiftc xcodebuild`},
		{Compiles, []string{TypeScript}, `tsc vue-tsc tsgo tspc tsd dtslint tstyche attw`},
		{Compiles, []string{TypeScript, JavaScript}, `esbuild webpack rollup vite parcel swc babel tsup tsdown turbopack
			next nuxt astro rspack rsbuild`},
		{Runs, []string{TypeScript, JavaScript}, `jest vitest mocha ava tap tape jasmine karma playwright cypress qunit uvu`},
		{Runs, []string{Python}, `pytest py.test unittest nose2 nosetests stestr doctest trial`},
		{Runs, []string{Ruby}, `rspec minitest cucumber`},
		{Runs, []string{PHP}, `phpunit pest paratest behat codecept`},
		{Runs, []string{Shell}, `bats shellspec shunit2`},
		{Runs, []string{Perl}, `prove`},
		{Runs, []string{Lua}, `busted`},
	} {
		for name := range strings.FieldsSeq(group.names) {
			all[name] = Program{group.role, group.languages}
		}
	}
	return all
}

// verbs of programs that do several things.
var verbs = verbTable()

func verbTable() map[string]map[string]Program {
	all := map[string]map[string]Program{}
	for _, group := range []struct {
		Program
		calls string
	}{
		{Program{Compiles, []string{Go}}, `go/build go/vet go/test go/install`},
		{Program{Compiles, []string{Rust}}, `cargo/build cargo/check cargo/test cargo/clippy cargo/nextest cargo/doc cargo/bench
			cargo/rustc cargo/b cargo/c cargo/t`},
		{Program{Compiles, []string{TypeScript}}, `deno/check`},
		{Program{Runs, []string{TypeScript, JavaScript}}, `deno/test bun/test`},
		{Program{Role: Touches}, `go/fmt go/fix cargo/fmt deno/fmt ruff/format biome/format biome/check biome/ci dotnet/format
			golangci-lint/fmt`},
		{Program{Role: Checks}, `go/list deno/lint`},
		{Program{Role: Neutral}, `go/mod go/env go/version go/clean cargo/deny cargo/audit bun/install npm/ci npm/install
			npm/audit composer/install composer/validate`},
	} {
		for call := range strings.FieldsSeq(group.calls) {
			name, verb, _ := strings.Cut(call, "/")
			if all[name] == nil {
				all[name] = map[string]Program{}
			}
			all[name][verb] = group.Program
		}
	}
	return all
}

// programOf returns the action of a call's words: a program, one of its verbs, or a search or copy that a word of them names.
func programOf(words []string) Program {
	name := baseOf(words[0])
	for i, word := range words[1:] {
		if name == "find" || name == "xargs" {
			break
		}
		verb, known := verbs[name][word]
		if !known || name == "go" && slices.Contains(words[:i+1], "tool") {
			continue
		}
		if verb.Role == Compiles && name == "go" && slices.Contains(words, "-n") {
			return Program{Role: Unknown}
		}
		return verb
	}
	if _, several := verbs[name]; several && programs[name].Role == Unknown {
		return Program{}
	}
	return programs[name]
}
