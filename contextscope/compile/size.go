package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// ratio is how many tokens a byte of a request costs: tokens for bytes. It is whole numbers, so that an estimate comes out
// the same on every machine.
type ratio struct{ tokens, bytes int }

// The first guess, before a model has said what a request cost it, and the bounds of what is believed.
var (
	firstRatio    = ratio{2, 7} // one for 3.5 bytes
	leastRatio    = ratio{1, 8}
	greatestRatio = ratio{2, 3} // one for 1.5 bytes
)

// of estimates the tokens of so many bytes, rounded up.
func (r ratio) of(bytes int) int { return (bytes*r.tokens + r.bytes - 1) / r.bytes }

func (r ratio) less(o ratio) bool { return r.tokens*o.bytes < o.tokens*r.bytes }

// measured is the ratio of a prompt that cost so many tokens for so many bytes. A count outside of what bytes can mean is not
// believed: no token is shorter than a byte.
func measured(tokens, bytes int) (ratio, bool) {
	seen := ratio{tokens, bytes}
	switch {
	case bytes <= 0, tokens > bytes, seen.less(leastRatio):
		return ratio{}, false
	case greatestRatio.less(seen):
		return greatestRatio, true
	default:
		return seen, true
	}
}

// ratioOf returns the bytes per token of the newest believable usage event for a prompt of known size. Events that summaries or
// retries left have no size.
func ratioOf(events []contextscope.Event) ratio {
	for i := range slices.Backward(events) {
		if events[i].Kind != contextscope.KindUsage {
			continue
		}
		var u struct {
			spec.Usage

			Bytes int `json:"bytes"`
		}
		if json.Unmarshal(events[i].Data, &u) != nil || u.Calls != 1 {
			continue
		}
		if r, ok := measured(u.Prompt, u.Bytes); ok {
			return r
		}
	}
	return firstRatio
}

// Size is the size of one part of a request, in estimated tokens (bytes/4).
type Size struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Fixed returns the sizes of what every request of an agent holds and nothing ever trims: everything before the history but
// the events of the slice. Parts that are empty are left out.
func Fixed(in Input) []Size {
	var sizes []Size
	add := func(name string, bytes int) {
		if bytes > 0 {
			sizes = append(sizes, Size{name, content.TokensOf(bytes)})
		}
	}
	add("instruction", len(in.Role.Instruction))
	add("tools", toolBytes(in.Tools))
	add("decision record", len(cmp.Or(in.Slice.DecisionRecord, in.Brief.DecisionRecord)))
	add("instruction files", content.Bytes(guideParts(narrative.New(narrative.Fenced), in.Guides)))
	if in.Brief.Task.ID == "" {
		return sizes
	}
	for _, p := range in.Brief.pieces(cmp.Or(in.Narrative, in.Role.Narrative)) {
		add(p.Name, p.Tokens)
	}
	return sizes
}

// pieces are the parts of a brief with their sizes in bytes; the decision record is left out.
func (b *Brief) pieces(style string) []Size {
	size := func(write func(w *briefWriter)) int {
		w := &briefWriter{narrator: narrative.New(style)}
		w.narrator.Introduced = true
		write(w)
		return w.b.Len()
	}
	rest := *b
	rest.DecisionRecord, rest.Constraints, rest.Inputs, rest.Prior = "", nil, nil, nil
	rest.Task.Constraints = nil
	pieces := []Size{
		{"brief", len(rest.text(narrative.New(style), ""))},
		{"constraints", size(func(w *briefWriter) { w.constraints(b.rules()) })},
	}
	for _, h := range b.Inputs {
		name := "handoff of " + h.Task
		if h.Artifact != nil {
			name = "artifact " + h.Artifact.Name + " of " + h.Task
		}
		pieces = append(pieces, Size{name, size(func(w *briefWriter) { w.handoff(h) })})
	}
	for _, p := range b.Prior {
		pieces = append(pieces, Size{fmt.Sprintf("attempt %d", p.Attempt), size(func(w *briefWriter) { w.prior(p) })})
	}
	return pieces
}

func toolBytes(tools []*genai.FunctionDeclaration) int {
	size := 0
	for _, d := range tools {
		if d != nil {
			size += len(d.Name) + len(d.Description) + len(spec.JSONText(d.ParametersJsonSchema))
		}
	}
	return size
}

// TooBigError reports that a task does not fit the window of its role's model before anything is said.
type TooBigError struct {
	Agent  string
	Role   string
	Window int
	// Sizes are the parts. They cannot be trimmed.
	Sizes []Size
}

// Error lists the parts, the largest first, and reports what to do.
func (e *TooBigError) Error() string {
	sizes := slices.Clone(e.Sizes)
	slices.SortStableFunc(sizes, func(a, b Size) int { return cmp.Compare(b.Tokens, a.Tokens) })
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = fmt.Sprintf("%s %d", s.Name, s.Tokens)
	}
	return fmt.Sprintf("%s has about %d tokens before its first turn, and a request of role %s can have %d: %s. "+
		"Shorten what is long, split the task, ask for fewer inputs, or give the role a model with a larger window",
		e.Agent, total(e.Sizes), e.Role, e.Window, strings.Join(parts, ", "))
}

// CheckFixed returns a *TooBigError when what is never trimmed does not fit the window; no window, no bound.
func CheckFixed(in Input) error {
	sizes := Fixed(in)
	if in.Window <= 0 || total(sizes) <= in.Window {
		return nil
	}
	return &TooBigError{Agent: in.Agent, Role: in.Role.Name, Window: in.Window, Sizes: sizes}
}

func total(sizes []Size) int {
	sum := 0
	for _, s := range sizes {
		sum += s.Tokens
	}
	return sum
}
