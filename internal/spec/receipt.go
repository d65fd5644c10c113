package spec

import (
	"slices"
	"time"
)

// Receipt is the record of one gate run. Signatures are sorted and unique.
type Receipt struct {
	Gate     string   `json:"gate"`
	Command  []string `json:"command"`
	ExitCode int      `json:"exit_code" minimum:"-2147483648"`
	// Worker is the one that ran it, Signature that of its key over all other fields.
	Worker    string `json:"worker,omitempty"`
	Signature []byte `json:"signature,omitempty"`
	// Agent is the attempt that it was made in: it counts in no other one. Workers of protocol 1 left it empty.
	Agent string `json:"agent,omitempty"`
	// Pos is where in the log it was handed in; 0 before that.
	Pos uint64 `json:"-"`
	// Tree is the git tree id that the gate ran on, Environment the digest of the environment: system, architecture, programs,
	// what setup left, confinement.
	Tree        string `json:"tree"`
	Environment string `json:"environment,omitempty"`
	// Programs are those that the command begins with, and that run what it starts, as it found them. Older workers name none.
	Programs []Program `json:"programs,omitempty"`
	// Since is the commit whose difference to the tree the gate was narrowed to; empty where it ran in full. Whole is why a gate
	// that can be narrowed ran in full all the same.
	Since string `json:"since,omitempty"`
	Whole string `json:"whole,omitempty"`
	// Beyond is, on the base commit, why the paths of the gate do not name all that it depends on: every patch starts it then.
	Beyond     string        `json:"beyond,omitempty"`
	Signatures []string      `json:"signatures,omitempty"`
	Duration   time.Duration `json:"duration_ns"`
	// Version is ReceiptVersion, and 0 in what an older program has signed, which did not count.
	Version int `json:"version,omitempty"`
	// Counts has the signatures that were found at more than one place, with how many places these are. Moved are those beyond
	// the baseline that only changed their file, sorted: what the patch changed has in all no more of their kind than before.
	Counts map[string]int `json:"counts,omitempty"`
	Moved  []string       `json:"moved,omitempty"`
	// Errors are the first of the new failures that follow from no other one, in the order of the output. Bounded. Where the
	// baseline has some of a kind, the message ends with their numbers: which of the places are new is not known.
	Errors []Finding `json:"errors,omitempty"`
	// Paths has, for the signatures that are new against the baseline, the paths of the tree that their lines name; of a
	// test also its package's directory or its file. Imports has, for the directories of Go packages among them, those of
	// the packages of the tree that they import, directly or through others. All are relative to the top of the tree, ".",
	// and both are bounded.
	Paths   map[string][]string `json:"paths,omitempty"`
	Imports map[string][]string `json:"imports,omitempty"`
	// Positions has, for the new signatures whose lines give a file with a line number, those files: a part of Paths.
	Positions map[string][]string `json:"positions,omitempty"`
	// Follows has, for each signature that is the consequence of another one, that other one: a package that imports one which
	// does not build, a suite that could not load a module.
	Follows map[string]string `json:"follows,omitempty"`
	// Hidden lists the tests that should have run and did not, sorted: "package: DIR" for a Go package (its import path where the
	// tree does not have it), a file of the tree, a directory of it with all below, a suite as the reporter names it, HiddenAll
	// for an unknown part. Bounded: HiddenAll is added.
	Hidden []string `json:"hidden,omitempty"`
	// Kind is the kind of the gate by its command or its output: KindTests, KindFindings, or empty for anything else.
	Kind string `json:"kind,omitempty"`
	// Build reports that something did not build.
	Build bool `json:"build,omitempty"`
	// Tests is the number of tests that ran, Passed how many of them passed, where the gate's output tells.
	Tests  int `json:"tests,omitempty"`
	Passed int `json:"passed,omitempty"`
	// Skipped is the number of tests that the runner left out, where the output tells; Skips are the first of them, each with its
	// reason.
	Skipped int      `json:"skipped,omitempty"`
	Skips   []string `json:"skips,omitempty"`
	// Names are, on the base commit, the objects with the tests that ran and passed, one for each run: a test counts that is in
	// all of them; elsewhere those of this run, where some are missing. Missing is the object with those of the base commit
	// that did not pass in this run, which lets something through; of a narrowed one those of what it ran. MissingSkipped is
	// the object with the skipped tests of Missing. They are empty where the output tells nothing of tests.
	Names          []string `json:"names,omitempty"`
	Missing        string   `json:"missing,omitempty"`
	MissingSkipped string   `json:"missing_skipped,omitempty"`
	// Kills are, of the gate MutantsGate, the first changes of the code that the tests find and that no other test finds; of
	// WeakerGate those that the tests find as they did before.
	Kills []string `json:"kills,omitempty"`
	// Idle is how many changed tests noticed none of the changes of the code that WeakerGate tried.
	Idle int `json:"idle,omitempty"`
	// Appeared are the failures of a gate of a batch that mends which did not run before: no fault of the batch. Sorted.
	Appeared []string `json:"appeared,omitempty"`
	// Findings is the object with all findings of a red gate that runs no tests and ran in full: each with its place. Workers of
	// protocol 13 left it empty.
	Findings string `json:"findings,omitempty"`
	// Verdict is pass, better (red, and mended in part), baseline (red, but no redder than the baseline), passage (red, as a
	// passage allows), fail or unattributable.
	Verdict string `json:"verdict"`
	// Tail is the end of the output, bounded; Output the object-store name of all of it.
	Tail   string `json:"tail,omitempty"`
	Output string `json:"output,omitempty"`
	// TimedOut reports that the gate was killed at its deadline. Killed reports that a signal ended it that others send: that is
	// no verdict until it has come again and again.
	TimedOut bool `json:"timed_out,omitempty"`
	Killed   bool `json:"killed,omitempty"`
	// Wrote are the files of the tree that the gate changed, which were restored; the first of them.
	Wrote []string `json:"wrote,omitempty"`
	// Unread are the files that differ from the base commit, of a batch from the commit that it is built on, and that this gate
	// did not read as their kind needs, by path. UnreadRest are so many more after them.
	Unread     []Unread `json:"unread,omitempty"`
	UnreadRest int      `json:"unread_rest,omitempty"`
}

// ReceiptVersion is the newest form of receipts that this program reads, and the one that it writes. In version 2 failures count,
// in version 3 changed files have grades.
const ReceiptVersion = 3

// Count returns at how many places a signature was found.
func (r *Receipt) Count(signature string) int {
	if n := r.Counts[signature]; n > 0 {
		return n
	}
	if _, found := slices.BinarySearch(r.Signatures, signature); found {
		return 1
	}
	return 0
}

// Failures is how many failures the gate has, each place counted.
func (r *Receipt) Failures() (n int) {
	for _, signature := range r.Signatures {
		n += r.Count(signature)
	}
	return n
}

// Bare is a receipt that others are compared with, as every assignment holds it: no task is to blame for its failures.
func (r Receipt) Bare() Receipt {
	r.Signature, r.Paths, r.Imports, r.Positions, r.Follows, r.Errors, r.Agent, r.Pos = nil, nil, nil, nil, nil, nil, "", 0
	return r
}

// LetsThrough reports whether a gate is green, or known to be no redder than before.
func (r *Receipt) LetsThrough() bool {
	return r.Verdict == VerdictPass || r.Verdict == VerdictBetter || r.Verdict == VerdictBaseline || r.Verdict == VerdictPassage
}

// HiddenAll in the hidden of a receipt is a part of the gate that is not known.
const HiddenAll = "*"

// The kinds of gates: one that runs tests, and a compiler or linter that reports findings with their positions.
const (
	KindTests    = "tests"
	KindFindings = "findings"
)

// The verdicts of a receipt.
const (
	VerdictPass           = "pass"
	VerdictBetter         = "better"
	VerdictBaseline       = "baseline"
	VerdictPassage        = "passage"
	VerdictFail           = "fail"
	VerdictUnattributable = "unattributable"
)
