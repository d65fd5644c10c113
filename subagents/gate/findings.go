package gate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/finding"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/gate/trace"
)

// The bounds of what a receipt keeps.
const (
	maxSignatures = 2000
	maxTail       = 4 << 10
	// overflowSignature stands for all signatures beyond maxSignatures: such a set is never a subset of a smaller one.
	overflowSignature = "more failures than are kept"
	moreNote          = "[... more failures follow ...]\n"
	// The lines that may name paths, in bytes: of one signature, and of all.
	maxNames    = 8 << 10
	maxAllNames = 1 << 20
	maxOwners   = 4
	maxHidden   = 1000
	maxSkips    = 5
	maxNumbered = 100_000
)

// findings is the result of a parser for the output of one gate.
type findings struct {
	signatures map[string]struct{}
	// counted has how many places each signature was found at, order the signatures as they came.
	counted counted
	order   []string
	// names has the lines and owners of the signatures, which lead to paths of the tree. Their sizes add up to named.
	names map[string]trace.Names
	named int
	// build reports whether something did not build. tests counts the tests that ran and were not skipped, passed those of them
	// that passed; runner reports whether the output is that of a test runner.
	build         bool
	tests, passed int
	runner        bool
	// skipped counts the tests that a runner left out, skips are the first of them with the reason.
	skipped int
	skips   []string
	// cached are the Go packages whose result is from a cache, and "" for one of another tool.
	cached []string
	// text reports whether the failures are from output without structure, failed whether a runner ended it with its failure.
	text, failed bool
	// told has the findings of those signatures that a tool reported in its own format.
	told map[string]spec.Finding
	// all are the findings at each of their places, the first ones, as they were printed.
	all []spec.Finding
	// ran has the names of those that passed, where the output gives them.
	ran testnames.Tests
	// hidden lists tests that did not run, as the output names them; follows has the cause of each consequence.
	hidden  map[string]struct{}
	follows map[string]string
	// kept is the part of the output that shows the failures, the first ones first.
	kept strings.Builder
	full bool
}

func newFindings() *findings {
	return &findings{
		signatures: map[string]struct{}{}, names: map[string]trace.Names{}, counted: newCounted(),
		told: map[string]spec.Finding{}, hidden: map[string]struct{}{}, follows: map[string]string{},
	}
}

// add keeps a signature, with the lines that report it.
func (f *findings) add(signature string, lines ...string) {
	signature = text.Head(signature, maxSignature)
	if strings.TrimSpace(signature) == "" {
		return
	}
	_, known := f.signatures[signature]
	as := signature
	if !known && len(f.signatures) >= maxSignatures {
		as = overflowSignature
	}
	if !known {
		f.order = append(f.order, as)
	}
	f.signatures[as] = struct{}{}
	if len(lines) > 0 {
		f.locate(signature, as, finding.Read(lines[0]))
	}
	f.say(as, lines...)
}

// locate counts the place of a finding under a signature, and keeps it under its own.
func (f *findings) locate(signature, as string, one spec.Finding) {
	if !f.counted.add(as, finding.Place(one)) {
		f.signatures[overflowSignature] = struct{}{}
	}
	if one.Signature = signature; len(f.all) <= finding.MaxList {
		f.all = append(f.all, one)
	}
}

// tell keeps what a tool reported in its own format.
func (f *findings) tell(names normaliser, one spec.Finding) {
	unplaced := one
	unplaced.Line, unplaced.Column, unplaced.Symbol = 0, 0, ""
	signature := names.line(unplaced.String())
	f.add(signature)
	f.locate(signature, signature, one)
	if _, known := f.told[signature]; !known && len(f.told) < maxSignatures {
		f.told[signature] = one
		f.say(signature, one.String())
	}
}

// say adds lines to those of a signature.
func (f *findings) say(signature string, lines ...string) {
	signature = text.Head(signature, maxSignature)
	if _, kept := f.signatures[signature]; !kept || signature == overflowSignature {
		return
	}
	for _, line := range lines {
		n := f.names[signature]
		if line = text.Head(line, max(0, min(maxNames-len(n.Text), maxAllNames-f.named))); line != "" {
			f.named += len(line) + 1
			n.Text += line + "\n"
			f.names[signature] = n
		}
	}
}

// own records what a signature belongs to: a package, a class or a file.
func (f *findings) own(signature, owner string) {
	signature, owner = text.Head(signature, maxSignature), text.Head(owner, maxSignature)
	n := f.names[signature]
	_, kept := f.signatures[signature]
	if kept && owner != "" && len(n.Owners) < maxOwners && !slices.Contains(n.Owners, owner) {
		n.Owners = append(n.Owners, owner)
		f.names[signature] = n
	}
}

// hide records that something did not run. Beyond the bound it is an unknown part.
func (f *findings) hide(what string) {
	if what = text.Head(strings.TrimSpace(what), maxSignature); what == "" || len(f.hidden) >= maxHidden {
		what = spec.HiddenAll
	}
	f.hidden[what] = struct{}{}
}

// follow records that a failure is the consequence of another one.
func (f *findings) follow(signature, cause string) {
	signature, cause = text.Head(signature, maxSignature), text.Head(cause, maxSignature)
	_, kept := f.signatures[signature]
	_, known := f.signatures[cause]
	if _, has := f.follows[signature]; kept && known && !has && signature != cause {
		f.follows[signature] = cause
	}
}

// causeOf returns the first cause of a consequence; "" for none.
func (f *findings) causeOf(signature string) string {
	cause := f.follows[signature]
	for range len(f.follows) {
		next, more := f.follows[cause]
		if !more {
			break
		}
		cause = next
	}
	return cause
}

// unloaded records suites that could not be loaded, as the output names them, and why. A cause that has a place in the
// tree is a signature of its own: all suites that fail because of it follow it.
func (f *findings) unloaded(names normaliser, message string, suites ...string) {
	f.runner, f.build = true, true
	cause, at := names.cause(message)
	if cause = "load: " + cause; at == "" {
		cause = "" // it leads nowhere
	} else if _, known := f.signatures[cause]; !known {
		f.add(cause, at)
	}
	for _, suite := range suites {
		suite = names.rooted(suite)
		signature := "suite: " + suite
		f.add(signature)
		if cause == "" {
			first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
			f.say(signature, first)
		}
		f.own(signature, suite)
		f.hide(suite)
		f.follow(signature, cause)
		f.follow("FAIL "+suite, signature)
	}
}

// count counts a test.
func (f *findings) count(passed bool) {
	f.runner = true
	f.tests++
	if passed {
		f.passed++
	}
}

// ranTo returns which tests ran, at the end of a gate. What a gate that passed prints of hidden parts is no reason not to miss
// their tests. Where the output counts tests and names none, they have numbers: of those that passed on the base commit so many
// are missing as are skipped beyond it, unless other ones pass in their place.
func (f *findings) ranTo(r, baseline *spec.Receipt) testnames.Tests {
	for hidden := range f.hidden {
		if !passed(*r) {
			f.ran.Cut(strings.TrimPrefix(hidden, "package: "))
		}
	}
	if f.ran.Known() {
		return f.ran
	}
	ran := r.Passed
	if baseline != nil {
		ran = max(ran, baseline.Passed-max(0, r.Skipped-baseline.Skipped))
	}
	for i := range min(ran, maxNumbered) {
		f.ran.Pass("", fmt.Sprintf("test without a name, %d", i+1))
	}
	return f.ran
}

// skip counts a test that was skipped, with its name where there is one, and the reason.
func (f *findings) skip(group, name, why string) {
	f.runner = true
	f.skipped++
	f.ran.Skip(group, name)
	f.skipFor(testnames.Test{Group: group, Name: name}.String(), why)
}

// skipFor keeps what was skipped with the reason.
func (f *findings) skipFor(what, why string) {
	one := strings.Trim(what+": "+strings.TrimSpace(plain(why)), ": ")
	if one != "" && len(f.skips) < maxSkips {
		f.skips = append(f.skips, text.Clip(text.OneLine(one), text.MaxLine))
	}
}

// show keeps a piece of output for the receipt's tail.
func (f *findings) show(shown string) {
	if f.full || shown == "" {
		return
	}
	shown = plain(shown)
	if !strings.HasSuffix(shown, "\n") {
		shown += "\n"
	}
	room := maxTail - len(moreNote) - f.kept.Len()
	if len(shown) > room {
		f.full = true
		f.kept.WriteString(strings.TrimRight(text.Head(shown, room), "\n"))
		f.kept.WriteString("\n" + strings.TrimRight(moreNote, "\n"))
		return
	}
	f.kept.WriteString(shown)
}

func (f *findings) sorted() []string { return slices.Sorted(maps.Keys(f.signatures)) }

// adopt takes over what another parser found in the same output, where this one found nothing.
func (f *findings) adopt(other *findings) {
	if len(f.signatures) > 0 { // of two tools in one output
		for _, signature := range other.order {
			if one, told := other.told[signature]; told {
				f.add(signature, other.names[signature].Text)
				f.told[signature], f.counted.counts[signature] = one, other.counted.counts[signature]
			}
		}
	} else {
		f.signatures, f.names, f.follows = other.signatures, other.names, other.follows
		f.counted, f.order, f.text, f.failed = other.counted, other.order, other.text, other.failed
		f.told = other.told
	}
	f.all = append(f.all, other.all...)
	if f.build = f.build || other.build; !f.ran.Known() && other.ran.Known() {
		f.ran = other.ran
	}
	f.cached = append(f.cached, other.cached...)
	if f.kept.Len() == 0 {
		f.show(other.kept.String())
	}
	if !f.runner {
		f.tests, f.passed, f.skipped, f.skips = other.tests, other.passed, other.skipped, other.skips
		maps.Copy(f.hidden, other.hidden)
	} else if _, cut := other.hidden[spec.HiddenAll]; cut {
		f.hide(spec.HiddenAll)
	}
	f.runner = f.runner || other.runner
}

// window is a bounded piece of a stream: its first and its last bytes.
type window struct {
	head, tail []byte
	limit      int
	lost       bool
}

func (w *window) add(text string) {
	n := min(len(text), max(0, w.limit/2-len(w.head)))
	w.head = append(w.head, text[:n]...)
	w.tail = append(w.tail, text[n:]...)
	if over := len(w.tail) - w.limit/2; over > 0 {
		w.tail, w.lost = append(w.tail[:0], w.tail[over:]...), true
	}
}

// panicked reports whether a Go test ended the whole program.
func (w *window) panicked() bool {
	return w != nil && bytes.Contains(w.head, []byte("panic: ")) &&
		bytes.Contains(append(w.head, w.tail...), []byte("\ngoroutine "))
}

func (w *window) String() string {
	if w.lost {
		return string(w.head) + "\n[...]\n" + string(w.tail)
	}
	return string(w.head) + string(w.tail)
}
