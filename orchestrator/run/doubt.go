package run

import (
	"cmp"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// What a run does about a doubt that the master did not decide.
const (
	OnDoubtAsk    = "ask"    // the run waits for a person
	OnDoubtReject = "reject" // the attempt has failed
	OnDoubtAccept = "accept" // the patch goes on
)

// OnDoubts are the known ones.
var OnDoubts = []string{OnDoubtAsk, OnDoubtReject, OnDoubtAccept}

// ByPolicy is the author of a ruling that OnDoubt made.
const ByPolicy = "policy"

// NoticedNone is the kind of the findings of an experiment in which tests noticed nothing.
const NoticedNone = "noticed none of the changes"

// Doubt is why a patch is held, and what became of it.
type Doubt struct {
	Attempt int `json:"attempt,omitempty"`
	// Evidence is why, one sentence each. Foreign text in it is quoted.
	Evidence []string `json:"evidence"`
	// Review is set where the only reason is that a person is to see each patch: no policy and no master decides it.
	Review bool `json:"review,omitempty"`
	// Size is set where all evidence is about the size of the patch: no policy rejects it.
	Size bool `json:"size,omitempty"`
	// Unprovable is set where the reason is that no gate can prove what the patch changes.
	Unprovable bool `json:"unprovable,omitempty"`
	// Missing is set where tests of the base commit did not run with the patch: by gate, the object with them.
	Missing map[string]string `json:"missing,omitempty"`
	// Skips is the evidence that the patch skips tests; "" for none.
	Skips string `json:"skips,omitempty"`
	// Unread are the files of the patch that no gate reads as their kind needs, where the doubt is about those.
	Unread []spec.Unread `json:"unread,omitempty"`
	// Unlike is set where the patch has edits that no other shard of its template makes.
	Unlike []Unlike `json:"unlike,omitempty"`
	// Kinds are the kinds of the findings, each once. Where none are told, such as in the log of an older program, they are the
	// evidence.
	Kinds []string `json:"kinds,omitempty"`
	// Pos is where in the log it began; Answer is nil while it is open.
	Pos    uint64  `json:"-"`
	Answer *Answer `json:"answer,omitempty"`
}

// Accepted reports whether the patch continues in spite of it.
func (d *Doubt) Accepted() bool { return d.Answer != nil && d.Answer.Option == Accept }

// silence folds how many times more the patch of a task silences a checker. What was held is not allowed in advance: a person
// decides about it.
func (t *Task) silence(d TaskData) {
	switch d.State {
	case TaskPending, TaskRunning, TaskHeld, TaskParked, TaskCancelled, TaskSkipped:
		t.Silences = 0
	default:
		t.Silences = max(t.Silences, d.Silences)
	}
}

// MaySilence is how many times the next patch of a task may silence a checker without a question: what a person allowed the task,
// or its template, without the patches of the other shards.
func (a *Agenda) MaySilence(t *Task) int {
	n := t.Task.AllowSuppress
	if n == 0 || !a.Plans.All[t.Plan].ofPerson() {
		return 0
	}
	for _, id := range a.Tasks.Shards[t.Task.ShardOf] {
		if id != t.Task.ID {
			n -= a.Tasks.ByID[id].Silences
		}
	}
	return max(0, n)
}

// Doubt returns the open doubt of a held task; nil for none.
func (t *Task) Doubt() *Doubt {
	if t.State != TaskHeld || len(t.Doubts) == 0 {
		return nil
	}
	return &t.Doubts[len(t.Doubts)-1]
}

// accepted are the doubts about the patch of the task's newest attempt that were decided for it.
func (t *Task) accepted() []Doubt {
	return slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubt) bool {
		return d.Attempt != t.Attempt || !d.Accepted()
	})
}

// AcceptedDespiteDoubt reports whether a doubt about the patch of the task's newest attempt was decided for it.
func (t *Task) AcceptedDespiteDoubt() bool { return len(t.accepted()) > 0 }

// Refused reports whether the run's policy rejected the patch of the task's newest attempt, and no person was asked.
func (t *Task) Refused() bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubt) bool {
		return d.Attempt == t.Attempt && d.Answer != nil && d.Answer.Option == Reject && d.Answer.By == ByPolicy
	})
}

// Reviewed reports whether a person has accepted the patch of the task's newest attempt.
func (t *Task) Reviewed() bool {
	return slices.ContainsFunc(t.accepted(), func(d Doubt) bool { return wire.IsPerson(d.Answer.By) })
}

// AllowedUnproven reports whether the patch of the task's newest attempt may land though no gate can prove it.
func (t *Task) AllowedUnproven() bool {
	return slices.ContainsFunc(t.accepted(), func(d Doubt) bool { return d.Unprovable })
}

// Without returns the accepted doubts about tests that do not run with the patch of the task's newest attempt.
func (t *Task) Without() []Doubt {
	return slices.DeleteFunc(t.accepted(), func(d Doubt) bool { return d.Missing == nil && d.Skips == "" })
}

// HoldPatch keeps the newest patch of a task from the queue until something was decided about a doubt.
func HoldPatch(t *Task, d Doubt) Action {
	return SetTask(t.Task.ID, TaskData{State: TaskHeld, Reason: d.Evidence[0], Doubt: &d})
}

// Review holds a patch for a person to see.
func Review(t *Task) Action {
	return HoldPatch(t, Doubt{Evidence: []string{"each patch waits for review by a person"}, Review: true})
}

// ToReview reports whether a person has yet to see the newest patch of a task.
func (s *Spec) ToReview(t *Task) bool {
	return s.Review && t.Result != nil && t.Result.Patch != nil && !t.Reviewed()
}

// doubt folds that a patch is held.
func (t *Task) doubt(d Doubt, pos uint64) {
	if t.Undecided() != nil { // it was given up before the decision: this is the same doubt
		t.Doubts = t.Doubts[:len(t.Doubts)-1]
	}
	d.Attempt, d.Pos = t.Attempt, pos
	if len(d.Kinds) == 0 {
		d.Kinds = d.Evidence
	}
	t.Doubts = append(t.Doubts, d)
}

// decide folds the answer about the held patch of a task, and returns the task; nil where there is none.
func (l *Tasks) decide(id string, a Answer) *Task {
	t := l.ByID[id]
	if t == nil || t.Doubt() == nil { // the state is still held
		return nil
	}
	t.Doubt().Answer = &a
	return t
}

// Asked is the decision about the held patch of a task: of a change set under review, that about all its patches together, which
// has the name of the first one; each patch makes it another decision.
func (l *Tasks) Asked(t *Task) (d Decided, pos uint64) {
	d, pos = Decided{Kind: DecidePatch, About: t.Task.ID}, t.Doubt().Pos
	switch doubt := t.Doubt(); {
	case doubt.Unlike != nil:
		d.Kind, pos = DecideUnlike, l.unlikeSince()
		d.Answer.ID = DecisionID(AboutUnlike, pos)
		return d, pos
	case doubt.Missing != nil:
		d.Kind = DecideTest
	}
	if t.Doubt().Review {
		all := l.Reviewing(t)
		d.About = all[0].Task.ID
		for _, o := range all {
			if pos = max(pos, o.Doubt().Pos); o != t {
				d.With = append(d.With, o.Task.ID)
			}
		}
	}
	d.Answer.ID = DecisionID(d.About, pos)
	return d, pos
}

// alone are the classes of faults that concern one attempt: the same one on other shards has another cause.
var alone = []string{wire.FaultConflict, wire.FaultInternal, wire.FaultCancelled, wire.FaultAssignment}

var (
	numbers = lazyregexp.New(`\d+`)
	// kinds are the words of a signature that come with any failure of its kind.
	kinds = lazyregexp.New(`(?i)\b(?:build|package|tests?|fail(?:ed|ure)?|errors?|setup)\b`)
	// letters returns the remainder of a signature that has more than its kind.
	letters = lazyregexp.New(`\pL{2}`)
	humps   = lazyregexp.New(`\p{Lu}?[\p{Ll}\d]+|\p{Lu}+|\d+`)
	// affixes mark the file of a test beside the one that it tests.
	affixes = lazyregexp.New(`^test_|_test$|[._](?:test|spec|d)$`)
)

// common are names of files and directories that are no shard's own.
var common = []string{
	"index", "main", "mod", "lib", "init", "doc", "src", "test", "tests", "pkg", "internal", "cmd", "util", "utils", "types",
	"app",
}

// ownPart stands for what is a shard's own in the shape of a failure.
const ownPart = "·"

// shapes are the failures of a shard without what is its own: paths, packages and names that are made of them. What says nothing
// more than that its package does not build is left out. The same failure of two shards has the same shape.
func shapes(t *spec.Task, f spec.Fault) []string {
	if slices.Contains(alone, f.Class) {
		return nil
	}
	if f.Class == wire.FaultWriteSet { // whatever the file is
		return []string{f.Class}
	}
	o := ownOf(t.Files)
	if len(f.Signatures) == 0 {
		return []string{o.strip(f.Class + ": " + numbers.ReplaceAllLiteralString(f.Message, "N"))}
	}
	var out []string
	for _, signature := range f.Signatures {
		gate, rest, found := strings.Cut(signature, ": ")
		if !found {
			gate, rest = "", signature
		}
		shape := o.strip(rest)
		if f.Class != wire.FaultGate || letters.MatchString(kinds.ReplaceAllLiteralString(shape, "")) {
			out = append(out, gate+": "+shape)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Shape is a text without what is a task's own.
func (t *Task) Shape(text string) string {
	return ownOf(append(t.Changes(), t.Task.Files...)).strip(text)
}

// own finds what is a shard's own in a text: its paths, and then its names.
type own struct{ paths, names *regexp.Regexp }

func ownOf(files []string) own {
	var paths, names []string
	for _, file := range files {
		dir := path.Dir(file)
		paths = append(paths, `(?:[\w.@~-]+/)*`+regexp.QuoteMeta(file)+`\b`)
		if strings.Contains(dir, "/") {
			paths = append(paths, `(?:[\w.@~-]+/)*`+regexp.QuoteMeta(dir)+`\b(?:/[\w.@~-]+)*`)
		} else if dir != "." { // a word of a sentence can have the same letters
			paths = append(paths, `(?:[\w.@~-]+/)+`+regexp.QuoteMeta(dir)+`\b(?:/[\w.@~-]+)*`,
				`\b`+regexp.QuoteMeta(dir)+`(?:/[\w.@~-]+)+`)
		}
		names = append(names, nameOf(path.Base(file)), nameOf(path.Base(dir)))
	}
	return own{anyOf("", paths), anyOf("(?i)", names)}
}

// nameOf is a pattern of the name of a file or a directory, as a path and an identifier have it: orderItem, order_item,
// OrderItem; "" for one that is too short to be found in a text, or no shard's own.
func nameOf(base string) string {
	stem := affixes.ReplaceAllLiteralString(strings.TrimSuffix(base, path.Ext(base)), "")
	if len(stem) < 3 || slices.Contains(common, strings.ToLower(strings.Trim(stem, "_"))) {
		return ""
	}
	return strings.Join(humps.FindAllString(stem, -1), `[-_. ]?`)
}

// anyOf matches one of the patterns, the longest first; nil for none.
func anyOf(flags string, patterns []string) *regexp.Regexp {
	patterns = slices.DeleteFunc(patterns, func(p string) bool { return p == "" })
	if len(patterns) == 0 {
		return nil
	}
	slices.SortFunc(patterns, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return regexp.MustCompile(flags + strings.Join(slices.Compact(patterns), "|"))
}

func (o own) strip(text string) string {
	for _, re := range []*regexp.Regexp{o.paths, o.names} {
		if re != nil {
			text = re.ReplaceAllLiteralString(text, ownPart)
		}
	}
	return text
}

// Unlike is an edit of a shard that no other shard of its template makes. Was and Is are its lines; Usual is an edit that most of
// them make, in the same form. All of it is text of the repository.
type Unlike struct {
	File string `json:"file"`
	// Line is the place after the edit, from 1.
	Line     int    `json:"line"`
	Was      string `json:"was,omitempty"`
	Is       string `json:"is,omitempty"`
	UsualWas string `json:"usual_was,omitempty"`
	UsualIs  string `json:"usual_is,omitempty"`
}

// AboutUnlike begins the one decision about all patches that are unlike others: it is about no single task.
const AboutUnlike = "unlike"

// Unlike are the held patches that are unlike those of other shards, in plan order.
func (l *Tasks) Unlike() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for t := range l.In(TaskHeld) {
			if t.Doubt().Unlike != nil && !yield(t) {
				return
			}
		}
	}
}

// unlikeSince is where in the log the decision about them began as it is now: each patch and each answer makes it another one.
func (l *Tasks) unlikeSince() uint64 {
	pos := l.unliked
	for t := range l.Unlike() {
		pos = max(pos, t.Doubt().Pos)
	}
	return pos
}

// AllowedUnlike returns the accepted doubts about edits of the newest attempt that no other shard makes.
func (t *Task) AllowedUnlike() []Doubt {
	return slices.DeleteFunc(t.accepted(), func(d Doubt) bool { return d.Unlike == nil })
}

// WasUnlike reports whether a patch of the task was asked about before for such edits.
func (t *Task) WasUnlike() bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubt) bool { return d.Unlike != nil && d.Answer != nil })
}
