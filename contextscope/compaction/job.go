package compaction

import (
	_ "embed" // for the prompt
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/text"

	"google.golang.org/genai"
)

//go:embed compaction_prompt.md
var compactionPrompt string

// maxWords bounds, in bytes, how much the summariser sees of the brief, which the agent keeps anyway, and of each thing that
// was said: one long message must not push all others out.
const maxWords = 8000

// Job is one compaction to be done by a model: a range of a session, and what its snapshot has to hold. It shares the events
// that it was planned from.
type Job struct {
	Trigger                  string
	From, To, Turns, Overlap int
	// Before is the size of the removed part, in estimated tokens: the events that are still shown and the snapshot before.
	Before int
	// Pinned are the facts that code copies into the snapshot.
	Pinned []Fact
	// Limit bounds the prompt, in estimated tokens; 0 means none. The oldest events give way first.
	Limit int

	events     []contextscope.Event
	brief      *contextscope.Event
	previous   string
	paths, red []string
}

// Prompt is the request to the model. All that the session holds is quoted as data.
func (j Job) Prompt() (system string, contents []*genai.Content) {
	opening := j.opening()
	material := make([]string, 0, len(j.events))
	size := len(compactionPrompt) + len(opening) + len(closingWords)
	for _, e := range slices.Backward(j.events) {
		if !conversed(e) {
			continue
		}
		text := eventMaterial(e)
		if size += len(text); j.Limit > 0 && size/4 > j.Limit {
			left := fmt.Sprintf("The events up to %s are left out: they do not fit.", contextscope.EventHandle(e.Seq))
			material = append(material, left)
			break
		}
		material = append(material, text)
	}
	slices.Reverse(material)
	text := opening + "\n\nTHE HISTORY\n" + strings.Join(material, "\n") + "\n\n" + closingWords
	return compactionPrompt, []*genai.Content{genai.NewContentFromText(text, genai.RoleUser)}
}

const closingWords = "This is the end of the history. Write the snapshot now."

// opening is everything before the history.
func (j Job) opening() string {
	var pieces []string
	add := func(title, text string) {
		if text != "" {
			pieces = append(pieces, title+"\n"+narrative.Quote(text))
		}
	}
	if j.brief != nil {
		add("THE AGENT'S TASK", Excerpt(contextscope.RenderEvent(*j.brief), maxWords, j.brief.Seq))
	}
	add("THE SNAPSHOT BEFORE THIS ONE", j.previous)
	add("HAS TO BE NAMED: files that were changed", strings.Join(j.paths, "\n"))
	add("HAS TO BE NAMED: gates and commands that are red", strings.Join(j.red, "\n"))
	return strings.Join(pieces, "\n\n")
}

// eventMaterial is an event as the summariser sees it: each part quoted, large results and arguments by their handle.
func eventMaterial(e contextscope.Event) string {
	var pieces []string
	for _, p := range e.Content.Parts {
		head, body := partHead(e, p)
		if body != "" {
			pieces = append(pieces, contextscope.EventHandle(e.Seq)+", "+head+":\n"+narrative.Quote(body))
		}
	}
	return strings.Join(pieces, "\n")
}

func partHead(e contextscope.Event, p *genai.Part) (head, body string) {
	if p == nil {
		return "", ""
	}
	switch {
	case p.FunctionCall != nil:
		args := content.ArgsText(p.FunctionCall.Args)
		return "the agent called " + narrative.Name(p.FunctionCall.Name), Excerpt(args, LargeResult, e.Seq)
	case p.FunctionResponse != nil:
		text := content.ResultText(p.FunctionResponse.Response)
		return narrative.Name(p.FunctionResponse.Name) + " returned", Excerpt(text, LargeResult, e.Seq)
	}
	_, body = content.PartText(p)
	body = Excerpt(body, maxWords, e.Seq)
	switch e.Kind {
	case contextscope.KindTurn:
		return "the agent said", body
	case contextscope.KindControl:
		return "the runtime reminded the agent", body
	case contextscope.KindSteering:
		return "a message reached the agent", body
	default:
		return "a message began a new turn", body
	}
}

// Check lists what a snapshot lacks, in words for the model that wrote it. Only the model's own words count, not what code
// pins to them.
func (j Job) Check(s Snapshot) []string {
	var faults []string
	words := strings.Join(strings.Fields(s.words()), " ")
	if s.OverallGoal == "" {
		faults = append(faults, "overall_goal is empty: describe the goal of the agent")
	}
	for _, name := range j.paths {
		if !namesPath(words, name) {
			faults = append(faults, fmt.Sprintf("the changed file %q is not named: describe its change", name))
		}
	}
	for _, name := range j.red {
		if !strings.Contains(words, strings.Join(strings.Fields(name), " ")) {
			faults = append(faults, fmt.Sprintf("the red gate %q is not named: give its name and its error word for word", name))
		}
	}
	s.Pinned = j.Pinned
	if after := s.tokens(); after >= j.Before {
		faults = append(faults, fmt.Sprintf(
			"it is too long: %d tokens, with what the program adds, would stand for %d; drop what can be loaded by its handle",
			after, j.Before))
	}
	return faults
}

// namesPath reports whether a text names a path, and not just a longer one that holds it.
func namesPath(text, name string) bool {
	name = strings.Join(strings.Fields(name), " ")
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		before, after := strings.TrimSuffix(text[:i], "./"), strings.TrimLeft(text[i+len(name):], ".")
		if (before == "" || !inPath(before[len(before)-1])) && (after == "" || !inPath(after[0])) {
			return true
		}
		at = i + 1
	}
}

// inPath reports whether a letter beside a path makes it part of a longer one. Other scripts run on without blanks.
func inPath(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("_-./", b) >= 0
}

// Repair is the one more request that a refused answer gets.
func (j Job) Repair(answer string, faults []string) (system string, contents []*genai.Content) {
	system, contents = j.Prompt()
	text := "This snapshot is refused:\n- " + strings.Join(faults, "\n- ") +
		"\nWrite the whole snapshot again, all five parts, with this fixed and nothing else lost."
	return system, append(contents,
		genai.NewContentFromText(answer, genai.RoleModel), genai.NewContentFromText(text, genai.RoleUser))
}

// Done is the record of a snapshot that was taken. The facts are pinned to it.
func (j Job) Done(s Snapshot) contextscope.Compaction {
	s.Pinned = j.Pinned
	c := j.record(contextscope.MethodSnapshot)
	c.Snapshot, c.After, c.Kept = s.Render(), s.tokens(), keptWords(j.Pinned)
	return c
}

// Failed is the record of an attempt that came to nothing.
func (j Job) Failed(fault spec.Fault) contextscope.Compaction {
	c := j.record(contextscope.MethodFailed)
	c.Fault = &fault
	return c
}

func (j Job) record(method string) contextscope.Compaction {
	return contextscope.Compaction{
		Method: method, Trigger: j.Trigger, From: j.From, To: j.To, Turns: j.Turns, Overlap: j.Overlap, Before: j.Before,
	}
}

// maxKeptWords bounds, in characters, how a person is told of one fact.
const maxKeptWords = 80

// keptWords tells people of the facts, but for those that are in the task anyway.
func keptWords(facts []Fact) []string {
	var kept []string
	for _, f := range facts {
		first, _, _ := strings.Cut(f.Text, "\n")
		first = text.Short(first, maxKeptWords)
		switch f.Kind {
		case FactChangedFile:
			kept = append(kept, "changed "+first)
		case FactRedGate:
			kept = append(kept, "red "+first)
		}
	}
	return kept
}
