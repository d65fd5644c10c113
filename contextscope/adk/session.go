package adk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/contextscope/pairing"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// sessionFile is a session given as JSON, with everything that its compilation depends on.
type sessionFile struct {
	Agent           string `json:"agent"`
	IncludeContents string `json:"include_contents"`
	Branch          string `json:"branch"`
	Narrative       string `json:"narrative"`
	// Strict heals the contents as the model's interface demands; without it they have ADK's shape.
	Strict bool           `json:"strict"`
	Events []sessionEvent `json:"events"`
}

// sessionEvent is one event of such a session.
type sessionEvent struct {
	Author string `json:"author"`
	Role   string `json:"role"`
	Branch string `json:"branch"`
	// InvocationID and Timestamp (seconds) come with ADK's events; order and pairing do not depend on them.
	InvocationID string        `json:"invocation_id"`
	Timestamp    float64       `json:"timestamp"`
	Parts        []*genai.Part `json:"parts"`
}

// Compile compiles a session given as JSON the way Google's ADK builds the contents of a request for one agent:
// what it may see, others' events narrated (one user content each), calls paired with results. Events count in the order
// given. Without include_contents it is full, without narrative fenced. A strict session comes out as the model's interface
// takes it: a user content first, roles that alternate, and every call answered once in the content after it. Errors are
// faults of the JSON, with their place; any history compiles, and what is broken in it is noted in the trace.
func Compile(data []byte) (contents []*genai.Content, trace []contextscope.Trace, err error) {
	file, err := decodeSession(data)
	if err != nil {
		return nil, nil, fmt.Errorf("session: %w", err)
	}
	contents, trace = file.compile()
	if t, found := garbled(data); found {
		trace = append([]contextscope.Trace{t}, trace...)
	}
	return contents, trace, nil
}

func decodeSession(data []byte) (*sessionFile, error) {
	var file sessionFile
	if err := decodeStrict(data, &file); err != nil {
		return nil, err
	}
	if path, fault := file.fault(); fault != "" {
		return nil, fmt.Errorf("%s: %s", placeOf(data, path, &file), fault)
	}
	return &file, nil
}

// fault is the first thing wrong with a well-formed session, and the path of the value concerned.
func (f *sessionFile) fault() (path, fault string) {
	switch {
	case f.Agent == "":
		return ".agent", "agent is missing: name the agent of the request"
	case !slices.Contains([]string{"", string(spec.IncludeNone), string(spec.IncludeFull)}, f.IncludeContents):
		return ".include_contents", fmt.Sprintf("include_contents must be none or full, not %q", f.IncludeContents)
	case !slices.Contains([]string{"", narrative.Plain, narrative.Fenced}, f.Narrative):
		return ".narrative", fmt.Sprintf("narrative must be plain or fenced, not %q", f.Narrative)
	}
	for i, e := range f.Events {
		path := fmt.Sprintf(".events[%d]", i)
		if e.Author == "" {
			return path, fmt.Sprintf("events[%d]: author is missing", i)
		}
		if !slices.Contains([]string{"", genai.RoleUser, genai.RoleModel}, e.Role) {
			return path + ".role", fmt.Sprintf("events[%d]: role must be user or model, not %q", i, e.Role)
		}
		if n := slices.Index(e.Parts, nil); n >= 0 {
			return fmt.Sprintf("%s.parts[%d]", path, n), fmt.Sprintf("events[%d]: parts[%d] is null", i, n)
		}
	}
	return "", ""
}

// role is the role as given; without one it follows from the author, and results are always given by the user.
func (e sessionEvent) role() string {
	switch {
	case e.Role != "":
		return e.Role
	case e.Author == pairing.User || content.HasResponses(&genai.Content{Parts: e.Parts}):
		return genai.RoleUser
	default:
		return genai.RoleModel
	}
}

// compile makes the contents. Each step is one entry of the trace, then each content is one.
func (f *sessionFile) compile() ([]*genai.Content, []contextscope.Trace) {
	var trace []contextscope.Trace
	view := viewer{agent: f.Agent, branch: f.Branch}
	items := make([]pairing.Item, len(f.Events))
	for i, e := range f.Events {
		said := &genai.Content{Role: e.role(), Parts: e.Parts}
		items[i] = pairing.Item{Author: e.Author, Branch: e.Branch, Content: said, Src: i}
	}
	if f.IncludeContents == string(spec.IncludeNone) {
		var t contextscope.Trace
		items, t = view.turn(items)
		trace = append(trace, t)
	}
	items, selected := view.selection(items)
	items, told := view.narration(items, narrative.New(f.Narrative))
	pair := &pairing.Pairing{Label: strconv.Itoa}
	reused(pair, items)
	var groups [][]pairing.Item
	if f.Strict {
		groups = alternate(strictly(pair, items))
	} else {
		for _, it := range likeADK(pair, items) {
			groups = append(groups, []pairing.Item{it}) // contents of one role stay side by side
		}
	}
	paired := contextscope.Trace{
		Processor: "pair", What: "results put after their calls", Notes: pair.Sorted(),
	}
	contents, lines := listed(groups, view)
	return contents, append(append(trace, selected, told, paired), lines...)
}

// turn limits the items to the current turn, for the scope none.
func (v viewer) turn(items []pairing.Item) ([]pairing.Item, contextscope.Trace) {
	calls := pairing.CallIDs(items)
	start := pairing.TurnStart(items, calls,
		func(it pairing.Item) bool {
			return v.leftOut(it, calls) == "" && (it.Author == pairing.User || v.foreign(it)) && !transfer(it.Content)
		},
		func(it pairing.Item) bool { return it.Author == pairing.User && content.HasResponses(it.Content) })
	t := contextscope.Trace{Processor: "turn"}
	if start < 0 {
		t.What = "include_contents is none and no event starts a turn: nothing is taken"
		return nil, t
	}
	t.What = fmt.Sprintf("include_contents is none: the current turn starts at event %d", items[start].Src)
	t.Events = []string{strconv.Itoa(items[start].Src)}
	return items[start:], t
}

// selection drops what the viewer must not see.
func (v viewer) selection(items []pairing.Item) ([]pairing.Item, contextscope.Trace) {
	calls := pairing.CallIDs(items)
	t := contextscope.Trace{Processor: "select"}
	kept := make([]pairing.Item, 0, len(items))
	for _, it := range items {
		if why := v.leftOut(it, calls); why != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("event %d was left out: %s", it.Src, why))
			continue
		}
		kept = append(kept, it)
	}
	t.What = fmt.Sprintf("%d of %d events are visible to %s", len(kept), len(items), v.agent)
	return kept, t
}

// narration reports what others did. A result of another agent's call is that agent's business too, whichever agent posted it.
func (v viewer) narration(items []pairing.Item, n *narrative.Narrator) ([]pairing.Item, contextscope.Trace) {
	authors := map[string]string{}
	for _, it := range items {
		content.EachCall(it.Content, func(fc *genai.FunctionCall) { authors[fc.ID] = it.Author })
	}
	t := contextscope.Trace{Processor: "narrate"}
	kept := make([]pairing.Item, 0, len(items))
	for _, it := range items {
		if !v.foreign(it) && !v.answersOther(it, authors) {
			kept = append(kept, it)
			continue
		}
		c := n.Content(it.Author, it.Content)
		if c == nil {
			t.Notes = append(t.Notes, fmt.Sprintf("event %d was left out: it has nothing to show", it.Src))
			continue
		}
		t.Events = append(t.Events, strconv.Itoa(it.Src))
		kept = append(kept, pairing.Item{Author: pairing.User, Branch: it.Branch, Content: c, Src: it.Src, Told: true})
	}
	t.What = fmt.Sprintf("%d events of other agents told as background", len(t.Events))
	return kept, t
}

func (v viewer) answersOther(it pairing.Item, authors map[string]string) bool {
	other := false
	content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
		if fr.ID != "" {
			author := authors[fr.ID]
			other = other || author != "" && author != v.agent && author != pairing.User
		}
	})
	return other
}

// listed makes a content of each group of items, with a line of trace for each.
func listed(groups [][]pairing.Item, v viewer) ([]*genai.Content, []contextscope.Trace) {
	contents := make([]*genai.Content, 0, len(groups))
	lines := make([]contextscope.Trace, 0, len(groups))
	for i, group := range groups {
		c := joinedContent(group)
		contents = append(contents, c)
		t := contextscope.Trace{Processor: "contents", Parts: len(c.Parts), Tokens: content.Tokens(c)}
		var origins []string
		for _, it := range group {
			origin := v.origin(it)
			if of := it.Events(); len(of) > 0 {
				origin += " of event " + strings.Join(of, ", ")
				t.Events = append(t.Events, of...)
			}
			origins = append(origins, origin)
		}
		t.What = fmt.Sprintf("contents[%d] (%s): %s", i, c.Role, strings.Join(origins, "; "))
		lines = append(lines, t)
	}
	return contents, lines
}

func (v viewer) origin(it pairing.Item) string {
	switch {
	case it.Src < 0 && !content.HasResponses(it.Content):
		return "an opening, for a history that does not begin with the user"
	case it.Src < 0:
		return "placeholders for calls that nothing answered"
	case content.HasResponses(it.Content):
		return "results"
	case it.Author == v.agent:
		return "own turn"
	case it.Told:
		return "narrative"
	default:
		return "message"
	}
}
