package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate/trace"
)

// The bounds of the search for surefire's reports: entries of the tree, how deep they are, and the bytes of all reports.
const (
	maxSearched = 1_000_000
	maxDepth    = 64
	maxReports  = 256 << 20
)

var (
	surefireReport = lazyregexp.New(`(?:^|/)(?:surefire|failsafe)-reports/TEST-[^/]*\.xml$`)
	// Directories that hold no report of this run: sources, what was built of them, and what others have made.
	noReports = lazyregexp.New(`(?:^|/)(?:\.git|node_modules|src/(?:main|test)|(?:test-)?classes)$`)

	// javac's errors as Maven prints them, and the line after one that names what was not found.
	javaError  = lazyregexp.New(`^\[ERROR\] (\S.*?\.\w+):\[(\d+),(\d+)\] (.+)$`)
	javaSymbol = lazyregexp.New(`^(?:\[ERROR\])?\s+symbol:\s+(\S.*)$`)
	// Why the build failed: in a module, and as a whole.
	goalFailed  = lazyregexp.New(`^\[ERROR\] Failed to execute goal (?:.+? )?on project (\S+?): (.+?)(?: -> \[Help \d+\])?$`)
	buildFailed = lazyregexp.New(`^\[ERROR\] (\S.*) -> \[Help \d+\]$`)
	// The tests of the module above ended early.
	forkEnded = lazyregexp.New(`^\[ERROR\] (?:\S*Exception:? )?` +
		`(The forked VM .+|There was a timeout .+|Error occurred in starting fork\b.*)$`)
	// A module in the summary that was not built.
	skippedModule = lazyregexp.New(`^\[INFO\] (\S.*?) (?:\.+ )?SKIPPED$`)
)

// mavenParser reads what surefire has reported of the tests, and in the output what Maven did not build.
type mavenParser struct {
	names normaliser
	found *findings
	// printed counts the tests that the output counts.
	printed *textParser
	// wrong is an error of javac that waits for its symbol; module failed last, and failure is the signature of that.
	wrong, module, failure string
	searched               int
	bytes                  int64
}

func newMavenParser(text *textParser) *mavenParser {
	return &mavenParser{names: text.names, found: newFindings(), printed: text, searched: maxSearched, bytes: maxReports}
}

func (p *mavenParser) line(text string) {
	text = plain(text)
	if m := javaSymbol.FindStringSubmatch(text); m != nil && p.wrong != "" {
		p.wrong += ": " + m[1]
	}
	p.compiled()
	if p.printed.counts(text) {
		p.printed.count(text)
	}
	if m := skippedModule.FindStringSubmatch(text); m != nil {
		p.found.hide(trace.OfModule + m[1])
	}
	if !strings.HasPrefix(text, "[ERROR]") {
		return
	}
	if m := javaError.FindStringSubmatch(text); m != nil {
		p.wrong = m[1] + ":" + m[2] + ":" + m[3] + ": " + m[4]
	} else if m := goalFailed.FindStringSubmatch(text); m != nil {
		p.module, p.failure = m[1], ""
		if !strings.HasPrefix(m[2], "There are test failures") {
			p.failed(text, m[2])
		}
	} else if m := forkEnded.FindStringSubmatch(text); m != nil && p.module != "" && p.failure == "" {
		p.failed(text, m[1])
	} else if m := buildFailed.FindStringSubmatch(text); m != nil {
		p.module, p.failure = "", ""
		p.failed(text, m[1])
	} else if p.failure != "" {
		p.found.say(p.failure, text) // it may give the place
	}
}

// failed records that a module, or the build as a whole, ended before its tests did.
func (p *mavenParser) failed(line, why string) {
	hidden, signature := spec.HiddenAll, "build: "
	if p.module != "" {
		hidden, signature = trace.OfModule+p.module, signature+p.module+": "
	}
	p.failure = signature + p.names.line(why)
	p.found.build = true
	p.found.add(p.failure, line)
	p.found.show(line)
	p.found.hide(hidden)
	if p.module != "" {
		p.found.own(p.failure, hidden)
	}
}

// compiled records the error of javac that was waiting. Those that follow the failure of a module are its cause.
func (p *mavenParser) compiled() {
	if p.wrong == "" {
		return
	}
	signature := "build: " + p.names.line(p.wrong)
	p.found.build = true
	p.found.add(signature, p.wrong)
	if p.failure == "" {
		p.found.show(p.wrong)
	}
	p.found.follow(p.failure, signature)
	p.wrong = ""
}

func (p *mavenParser) end() *findings {
	p.compiled()
	printed, reported := p.printed.found, p.found.tests-p.found.passed
	for signature := range p.found.signatures {
		if strings.HasPrefix(signature, "suite: ") {
			reported++
		}
	}
	if !p.found.runner { // there are no reports
		p.found.tests, p.found.passed = printed.tests, printed.passed
	}
	if printed.tests-printed.passed > reported {
		p.found.hide(spec.HiddenAll) // they failed in tests that no report names
	}
	p.found.runner = p.found.runner || printed.runner
	return p.found
}

// readReports reads what surefire has written since the gate began: in the tree, where what was read is removed so that the tree
// is what was tested, and over the layers of the environment. What setup has left in these is below, and is not inspected.
func (p *mavenParser) readReports(where *Where, begin time.Time) error {
	for _, place := range append([]sandbox.Layer{{Path: ".", Lower: where.Dir}}, where.Place.Keeper.Written()...) {
		if err := p.readBelow(place, begin); err != nil {
			return fmt.Errorf("read the reports below %s: %w", place.Path, err)
		}
	}
	return nil
}

func (p *mavenParser) readBelow(place sandbox.Layer, begin time.Time) error {
	root, err := os.OpenRoot(place.Lower)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a command has closed it
	}
	if err != nil {
		return err
	}
	defer root.Close() // a handle
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		p.searched--
		switch seen := path.Join(place.Path, name); {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return nil // what is in it is no report
		case err != nil:
			return err
		case p.searched < 0, p.bytes < 0:
			p.found.hide(spec.HiddenAll)
			return fs.SkipAll
		case d.IsDir() && (noReports.MatchString(seen) || strings.Count(seen, "/") > maxDepth):
			return fs.SkipDir
		case d.Type().IsRegular() && surefireReport.MatchString(seen):
			return p.read(root, name, seen, begin, place.Path == ".")
		}
		return nil
	})
}

// read reads one report, which is seen in the tree at another path than in its root where that is a layer's.
func (p *mavenParser) read(root *os.Root, name, seen string, begin time.Time, remove bool) error {
	report, err := openReport(root, name, begin)
	if err != nil || report == nil {
		return err
	}
	defer report.Close() // only read from
	if info, err := report.Stat(); err == nil {
		p.bytes -= info.Size()
	}
	module := path.Dir(path.Dir(path.Dir(seen)))
	if readJUnit(io.LimitReader(report, maxReport), p.found, p.names, module) != nil {
		p.found.hide(spec.HiddenAll) // it breaks off
	}
	if remove {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil // it is older than the next gate
	}
	return err
}
