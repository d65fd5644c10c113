package acceptance

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
)

// ofCodeIn restricts a pattern to code with some extensions; own excludes tests.
func ofCodeIn(extensions string, own bool) func(*file, string) bool {
	list := strings.Fields(extensions)
	return func(f *file, _ string) bool {
		return slices.Contains(list, path.Ext(f.Path)) && (!own || f.language < 0)
	}
}

const onRunner = "code acts on the program that tests it"

// runnersOwn are lines by which code under test acts on the program that tests it.
var runnersOwn = patterns{
	{
		strings.Fields("testing.Testing( test. .Exit("),
		re(`\btesting\.Testing\(\)|["-]-?test\.(?:run|skip|list|short|count|failfast)\b|\bflag\.(?:Set|Lookup)\("test\.|` +
			`\b(?:syscall|unix)\.Exit\(`), Ask, onRunner, ofCodeIn(".go", true),
	},
	{
		strings.Fields("_exit( PYTEST_ sys.modules load_tests collect_ignore pytest_ config.option."),
		re(`\bconfig\.option\.\w+\s*=[^=]|\bos\._exit\(|\bPYTEST_CURRENT_TEST\b|["'](?:pytest|unittest)["'] in sys\.modules|` +
			`^(?:def )?load_tests\s*[(=]|\bcollect_ignore|` +
			`\bdef pytest_(?:collect|ignore|runtest|pyfunc|session|cmdline|load|itemcollected|deselected|report)\w*`),
		Ask, onRunner, ofCodeIn(".py", false),
	},
	{
		strings.Fields("JEST_WORKER_ID VITEST MOCHA_"),
		re(`\b(?:JEST_WORKER_ID|VITEST(?:_WORKER_ID)?|MOCHA_\w+)\b`), Ask, onRunner,
		ofCodeIn(".js .cjs .mjs .jsx .ts .cts .mts .tsx", true),
	},
	{strings.Fields("cfg!"), re(`\bcfg!\(\s*(?:not\(\s*)?test\b`), Ask, onRunner, ofCodeIn(".rs", false)},
}

var (
	// atStart lists code that Go runs before the first test, endings code that ends it there or chooses other tests.
	atStart = re(`(?ms)^func init\(\) \{[^\n]*\}$|^func init\(\) \{.*?^\}|^var [^\n]*func\([^\n]*\}\(\)$|` +
		`^var [^\n]*func\([^\n]*\{$.*?^\}\(`)
	endings = re(`\bos\.Exit\(|\bruntime\.Goexit\(|\bos\.Args\b[^=\n]*=[^=]`)
)

// runner asks about code that acts on the program which tests it, or ends it before the first test.
func runner(p *Patch) []Finding {
	found := runnersOwn.find(p)
	for _, f := range p.files {
		if path.Ext(f.Path) == ".go" && leaving(f.After) > leaving(f.Before) {
			found = append(found, at(f.Path, f.first, "the program ends, or gets other arguments, before the first test"))
		}
	}
	return found
}

// leaving counts what ends a program before the first test.
func leaving(content []byte) (n int) {
	has := func(what string) bool { return bytes.Contains(content, []byte(what)) }
	if !has("os.Exit(") && !has("Goexit(") && !has("os.Args") {
		return 0 // to look for functions takes long
	}
	for _, part := range atStart.FindAll(content, -1) {
		n += len(endings.FindAll(part, -1))
	}
	return n
}

// setups are files that run before tests, or with them.
var setups = re(`(?i)(?:^|/)[\w.-]*(?:setup|teardown|jest|vitest|mocha|karma)[\w.-]*\.[cm]?[jt]sx?$|` +
	`(?:^|/)(?:tests?|spec|e2e)/.*\.[cm]?[jt]sx?$|(?:^|/)(?:site|user)customize\.py$`)

// ends finds tests, and what sets them up, that end the process as if all had passed.
var ends = patterns{
	{strings.Fields("xit abort kill"), ending, Ask, "the process ends here, and tests after it do not run", ofTests},
}

var ending = re(`\bprocess\.(?:(?:exit|reallyExit)\(\s*0?\s*\)|(?:abort|kill)\(|exitCode\s*=\s*0)|\bos\.(?:abort|kill)\(|` +
	`\bsys\.exit\(\s*0?\s*\)|\bos\.Exit\(0\)|\bsyscall\.Exit\(|\bSystem\.exit\(0\)|\bprocess::exit\(0\)`)

func ofTests(f *file, line string) bool {
	return (f.language >= 0 || setups.MatchString(f.Path)) && ending.MatchString(testsource.Quoted.ReplaceAllString(line, " "))
}
