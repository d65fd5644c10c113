package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/finding"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/gate/trace"
)

// DefaultTimeout ends a gate that sets no timeout of its own.
const DefaultTimeout = 15 * time.Minute

// clockTick is how far the clock of a file system can be behind.
const clockTick = 20 * time.Millisecond

// Where is the place that a gate runs in.
type Where struct {
	// Dir is the work tree; Tree the id of the git tree that is checked out there.
	Dir  string
	Tree string
	// Env is the whole environment, as sandbox.Env builds it, for the place as it is seen; Place, Writable and Readable
	// are what the gate may write and read, Network and Loopback which addresses it may reach.
	Env                []string
	Place              sandbox.Place
	Writable, Readable []string
	Network, Loopback  bool
	// More reports whether another command of the same place follows.
	More bool
	// Idle reports whether nothing waits for the gate: everything else goes first.
	Idle bool
	// Targets are the narrowed scope of the gate, which changed since the commit Since; without that it runs in full. Whole is
	// why, where it could be narrowed.
	Targets []string
	Since   string
	Whole   string
	// Baseline is the receipt of the same gate on the base commit; nil while the baseline itself is taken. Changed returns the
	// paths in which the tree differs from that commit; nil where they are not known.
	Baseline *spec.Receipt
	Changed  func(ctx context.Context) ([]string, error)
	// Start runs the command in the place of the sandbox; nil for the sandbox.
	Start func(context.Context, sandbox.Command) (*sandbox.Output, error)
	// Mending is set in a batch that mends red gates.
	Mending *Mending
	// Ran is filled with the tests that ran and passed and that the output names; nil where none asks.
	Ran *testnames.Tests
	// Findings is filled with all findings of a red gate that runs no tests; nil where none asks.
	Findings *finding.List
	// Stale is set where the gate is green by results of a cache that may not know what changed; nil where none asks.
	Stale *bool
	// Sink receives the whole output, bounded as sandbox.Command says, for the object store; nil for none.
	Sink io.Writer
	// OnOutput sees the output as it comes; nil for no listener. OnEnd is called when the command has ended, before anything of
	// the tree is read; it may be nil.
	OnOutput func([]byte)
	OnEnd    func()
}

// Args is the command that a gate runs: on what it is narrowed to, else in full.
func (w *Where) Args(g spec.Gate) []string {
	if w.Since == "" {
		return judging(g.InFull().Command)
	}
	return judging(g.On(w.Targets))
}

// Run carries one gate out, confined, and judges it. A red gate is a receipt, not an error. Errors are: the gate cannot be
// started (*sandbox.NotFoundError for a missing program, sandbox.ErrInvalid), the context ended, or the sink failed.
// Receipt.Output is left to the caller, who knows where the sink went.
func Run(ctx context.Context, g spec.Gate, where Where) (spec.Receipt, error) {
	args := where.Args(g)
	if where.Since == "" {
		g = g.InFull()
	}
	receipt := spec.Receipt{
		Version: spec.ReceiptVersion, Gate: g.Name, Command: g.Command, Tree: where.Tree, Since: where.Since, Whole: where.Whole,
	}
	if len(g.Command) == 0 {
		return receipt, fmt.Errorf("run gate %s: %w: no command", g.Name, sandbox.ErrInvalid)
	}
	timeout := g.Timeout.Std()
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	names := newNormaliser(where.seen(), privateDirs(where.Env)...)
	lines := newLines(newParser(formatOf(g), names, knownTool(g.Command)))
	begin, start := time.Now(), sandbox.Run
	if where.Start != nil {
		start = where.Start
	}
	out, err := start(ctx, sandbox.Command{
		Args: args, Dir: where.Dir, Env: where.Env, Place: where.Place, Writable: where.Writable,
		Readable: where.Readable, Network: where.Network, Loopback: where.Loopback, More: where.More, Idle: where.Idle,
		Timeout: timeout, MaxOutput: 2 * maxTail, Sink: where.Sink, OnOutput: func(p []byte) {
			lines.write(p)
			if where.OnOutput != nil {
				where.OnOutput(p)
			}
		},
	})
	if where.OnEnd != nil {
		where.OnEnd()
	}
	if missing, ok := errors.AsType[*sandbox.NotFoundError](err); ok && missing.Path == "" && !filepath.IsAbs(missing.Name) {
		// A script of the tree itself: the change took it away, so the gate failed. 127 is what a shell would say.
		return missingScript(receipt, missing, where.Baseline), nil
	}
	if err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	if out.Cancelled {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, context.Cause(ctx))
	}
	if err := readReport(lines.to, g.Command, &where, begin); err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	found := lines.close()
	fill(&receipt, &g, out, found)
	if where.Ran != nil {
		*where.Ran = found.ranTo(&receipt, where.Baseline)
	}
	if err := hidden(&receipt, found, &where); err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	if silent(&receipt, where.Baseline) {
		receipt.Signatures = []string{"gate: no test ran"}
	}
	if err := moved(ctx, &receipt, names, &where); err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	receipt.Verdict = Judge(receipt, where.Baseline)
	if where.Stale != nil {
		if *where.Stale, err = stale(ctx, g.Command, found.cached, &where); err != nil {
			return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
		}
	}
	if where.Findings != nil {
		if *where.Findings, err = allOf(&receipt, found, names, where.Dir); err != nil {
			return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
		}
	}
	if err := lead(&receipt, found, names, &where); err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	if err := where.mend(ctx, &receipt); err != nil {
		return receipt, fmt.Errorf("run gate %s: %w", g.Name, err)
	}
	if out.SinkErr != nil {
		return receipt, fmt.Errorf("keep the output of gate %s: %w", g.Name, out.SinkErr)
	}
	return receipt, nil
}

// mend judges a gate of a batch that mends.
func (w *Where) mend(ctx context.Context, receipt *spec.Receipt) error {
	if w.Mending == nil {
		return nil
	}
	if w.Findings != nil {
		w.Mending.all = w.Findings.Findings
	}
	return w.Mending.judge(ctx, receipt, w.Baseline)
}

// seen is the work tree's path as the gate prints it.
func (w *Where) seen() string {
	if w.Place.Tree != w.Dir {
		return w.Dir
	}
	return sandbox.TreePath(w.Dir)
}

func missingScript(receipt spec.Receipt, missing *sandbox.NotFoundError, baseline *spec.Receipt) spec.Receipt {
	receipt.ExitCode, receipt.Build, receipt.Tail = 127, true, missing.Error()
	receipt.Signatures, receipt.Hidden = []string{"gate: " + missing.Name + " does not exist"}, []string{spec.HiddenAll}
	receipt.Verdict = Judge(receipt, baseline)
	return receipt
}

// fill writes what was measured into the receipt. Only a red gate has signatures: what a green one printed is no failure, but for
// the failed tests of a report.
func fill(receipt *spec.Receipt, g *spec.Gate, out *sandbox.Output, found *findings) {
	receipt.ExitCode, receipt.TimedOut, receipt.Duration = out.ExitCode, out.TimedOut, out.Duration
	receipt.Tests, receipt.Passed, receipt.Kind = found.tests, found.passed, kindOf(g, found)
	receipt.Skipped, receipt.Skips = found.skipped, found.skips
	if receipt.Kind == spec.KindTests && found.tests == 0 && !out.Success() {
		found.hide(spec.HiddenAll)
	}
	if out.Success() && !found.belie() {
		receipt.Tail = text.End(strings.TrimRight(plain(out.Text()), "\n"), maxTail)
		return
	}
	receipt.Killed = !out.TimedOut && out.Exceeded() == "" && (sent[out.Signal] || sentCodes[out.ExitCode])
	if out.TimedOut {
		found.add("gate: timed out")
	} else if out.OutOfMemory {
		found.add("gate: killed because it used too much memory")
	} else if out.OverDisk != nil {
		found.add("gate: killed because it wrote too much to the disk")
	} else if out.Signal != "" && len(found.signatures) == 0 {
		found.add("gate: ended by signal " + out.Signal)
	}
	receipt.Build = found.build
	receipt.Signatures, receipt.Counts = found.sorted(), found.counted.several()
	receipt.Tail = strings.TrimRight(found.kept.String(), "\n")
	if receipt.Tail == "" {
		receipt.Tail = text.End(strings.TrimRight(plain(out.Text()), "\n"), maxTail)
	}
	if out.OverDisk != nil {
		receipt.Tail = strings.TrimLeft(receipt.Tail+"\n[killed: "+out.Exceeded()+"]", "\n")
	}
}

// sent are the signals that others send, and no failure of a program's own raises; sentCodes are the exit codes of a shell whose
// command one of them ended.
var (
	sent      = map[string]bool{"hangup": true, "interrupt": true, "killed": true, "terminated": true}
	sentCodes = map[int]bool{129: true, 130: true, 137: true, 143: true}
)

// kindOf returns the kind of a gate: as its format or command shows, else its output.
func kindOf(g *spec.Gate, found *findings) string {
	switch known := knownTool(g.Command); {
	case g.Format == FormatFindings:
		return spec.KindFindings
	case known.kind != "":
		return known.kind
	case found.runner, slices.Contains([]string{FormatGoTest, FormatJUnit, FormatTAP, FormatJSON}, g.Format):
		return spec.KindTests
	default:
		return ""
	}
}

// hidden writes what did not run, as paths of the tree. A Go package that was to be built hides those that import it
// too; of tests the output names these.
func hidden(receipt *spec.Receipt, found *findings, where *Where) error {
	if len(found.hidden) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(found.hidden))
	places, err := trace.Places(where.Dir, receipt.Command, names, receipt.Kind == spec.KindFindings)
	if err != nil {
		return fmt.Errorf("find the tests that did not run: %w", err)
	}
	receipt.Hidden = places
	return nil
}

// lead writes where the failures that are new against the base commit lead to.
func lead(receipt *spec.Receipt, found *findings, names normaliser, where *Where) error {
	failures := map[string]trace.Names{}
	for _, signature := range NewSignatures(*receipt, where.Baseline) {
		if cause := found.causeOf(signature); cause != "" {
			if receipt.Follows == nil {
				receipt.Follows = map[string]string{}
			}
			receipt.Follows[signature] = cause
		}
		if n, ok := found.names[signature]; ok {
			failures[signature] = names.relative(n)
		}
	}
	if len(failures) == 0 {
		receipt.Errors = firstErrors(receipt, found, names, where)
		return nil
	}
	led, err := trace.Find(where.Dir, receipt.Command, failures)
	if err != nil {
		return fmt.Errorf("find the paths that the failures name: %w", err)
	}
	receipt.Paths, receipt.Positions, receipt.Imports = led.Paths, led.Positions, led.Imports
	receipt.Errors = firstErrors(receipt, found, names, where)
	return nil
}

// privateDirs are the directories of a slot that differ from run to run.
func privateDirs(env []string) []string {
	var dirs []string
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && (name == "HOME" || name == "TMPDIR") {
			dirs = append(dirs, value)
		}
	}
	return dirs
}

// readReport reads the file that the command was told to write. A file from before the start is another's claim, and one
// that is missing or lies outside the tree is no report: the output itself has to do then. A report that was read is removed, so
// that the tree is what was tested.
func readReport(p parser, command []string, where *Where, begin time.Time) error {
	if several, ok := p.(*mavenParser); ok {
		return several.readReports(where, begin)
	}
	reader, ok := p.(interface{ readFile(report io.Reader) error })
	name := reportFile(command)
	if !ok || name == "" {
		return nil
	}
	root, err := os.OpenRoot(where.Dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	report, err := openReport(root, name, begin)
	if err != nil || report == nil {
		return err
	}
	defer report.Close() // only read from
	if err := reader.readFile(report); err != nil {
		return fmt.Errorf("read the report %s: %w", name, err)
	}
	if err := root.Remove(name); err != nil {
		return fmt.Errorf("remove the report %s: %w", name, err)
	}
	return nil
}

// openReport returns nil for what is no report.
func openReport(root *os.Root, name string, begin time.Time) (*os.File, error) {
	report, err := trace.Open(root, name)
	if err != nil {
		return nil, fmt.Errorf("open the report %s: %w", name, err)
	}
	if report == nil {
		return nil, nil
	}
	info, err := report.Stat()
	if err == nil && info.ModTime().Nanosecond() == 0 {
		begin = begin.Truncate(time.Second) // a file system that keeps no more
	}
	if err != nil || info.ModTime().Before(begin.Add(-clockTick)) {
		return nil, report.Close()
	}
	return report, nil
}
