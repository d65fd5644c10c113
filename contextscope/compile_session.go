package contextscope

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// CompileSession compiles a session given as JSON the way Google's ADK builds the contents of a request for one agent:
// what it may see, others' events narrated (one user content each), calls paired with results. Events count in the order
// given. Without include_contents it is full, without narrative fenced. A strict session comes out as the model's interface
// takes it: a user content first, roles that alternate, and every call answered once in the content after it. Errors are
// faults of the JSON, with their place; any history compiles, and what is broken in it is noted in the trace.
func CompileSession(data []byte) (contents []*genai.Content, trace []Trace, err error) {
	file, err := decodeSession(data)
	if err != nil {
		return nil, nil, fmt.Errorf("session: %w", err)
	}
	contents, trace = file.compile()
	if t, found := garbled(data); found {
		trace = append([]Trace{t}, trace...)
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
		return ".agent", "agent is missing: whose request is it?"
	case !slices.Contains([]string{"", string(spec.IncludeNone), string(spec.IncludeFull)}, f.IncludeContents):
		return ".include_contents", fmt.Sprintf("include_contents is %q: want none or full", f.IncludeContents)
	case !slices.Contains([]string{"", NarrativePlain, NarrativeFenced}, f.Narrative):
		return ".narrative", fmt.Sprintf("narrative is %q: want plain or fenced", f.Narrative)
	}
	for i, e := range f.Events {
		path := fmt.Sprintf(".events[%d]", i)
		if e.Author == "" {
			return path, fmt.Sprintf("events[%d]: author is missing", i)
		}
		if !slices.Contains([]string{"", genai.RoleUser, genai.RoleModel}, e.Role) {
			return path + ".role", fmt.Sprintf("events[%d]: role is %q: want user or model", i, e.Role)
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
	case e.Author == authorUser || hasResponses(&genai.Content{Parts: e.Parts}):
		return genai.RoleUser
	default:
		return genai.RoleModel
	}
}

// compile makes the contents. Each step is one entry of the trace, then each content is one.
func (f *sessionFile) compile() ([]*genai.Content, []Trace) {
	var trace []Trace
	view := viewer{agent: f.Agent, branch: f.Branch}
	items := make([]item, len(f.Events))
	for i, e := range f.Events {
		items[i] = item{author: e.Author, branch: e.Branch, content: &genai.Content{Role: e.role(), Parts: e.Parts}, src: i}
	}
	if f.IncludeContents == string(spec.IncludeNone) {
		var t Trace
		items, t = view.turn(items)
		trace = append(trace, t)
	}
	items, selected := view.selection(items)
	items, told := view.narration(items, newNarrator(f.Narrative))
	pair := &pairing{label: strconv.Itoa}
	pair.reused(items)
	var groups [][]item
	if f.Strict {
		groups = alternate(pair.strictly(items))
	} else {
		for _, it := range pair.likeADK(items) {
			groups = append(groups, []item{it}) // contents of one role stay side by side
		}
	}
	paired := Trace{
		Processor: "pair", What: "results put after their calls", Notes: pair.sorted(),
	}
	contents, lines := listed(groups, view)
	return contents, append(append(trace, selected, told, paired), lines...)
}

// turn limits the items to the current turn, for the scope none.
func (v viewer) turn(items []item) ([]item, Trace) {
	calls := callIDs(items)
	start := turnStart(items, calls,
		func(it item) bool {
			return v.leftOut(it, calls) == "" && (it.author == authorUser || v.foreign(it)) && !transfer(it.content)
		},
		func(it item) bool { return it.author == authorUser && hasResponses(it.content) })
	t := Trace{Processor: "turn"}
	if start < 0 {
		t.What = "include_contents is none and no event starts a turn: nothing is taken"
		return nil, t
	}
	t.What = fmt.Sprintf("include_contents is none: the current turn starts at event %d", items[start].src)
	t.Events = []string{strconv.Itoa(items[start].src)}
	return items[start:], t
}

// selection drops what the viewer must not see.
func (v viewer) selection(items []item) ([]item, Trace) {
	calls := callIDs(items)
	t := Trace{Processor: "select"}
	kept := make([]item, 0, len(items))
	for _, it := range items {
		if why := v.leftOut(it, calls); why != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("event %d was left out: %s", it.src, why))
			continue
		}
		kept = append(kept, it)
	}
	t.What = fmt.Sprintf("%d of %d events are visible to %s", len(kept), len(items), v.agent)
	return kept, t
}

// narration tells what others did. A result of another agent's call is that agent's business too, whoever posted it.
func (v viewer) narration(items []item, n *narrator) ([]item, Trace) {
	authors := map[string]string{}
	for _, it := range items {
		eachCall(it.content, func(fc *genai.FunctionCall) { authors[fc.ID] = it.author })
	}
	t := Trace{Processor: "narrate"}
	kept := make([]item, 0, len(items))
	for _, it := range items {
		if !v.foreign(it) && !v.answersOther(it, authors) {
			kept = append(kept, it)
			continue
		}
		c := n.content(it.author, it.content)
		if c == nil {
			t.Notes = append(t.Notes, fmt.Sprintf("event %d was left out: nothing in it to tell", it.src))
			continue
		}
		t.Events = append(t.Events, strconv.Itoa(it.src))
		kept = append(kept, item{author: authorUser, branch: it.branch, content: c, src: it.src, told: true})
	}
	t.What = fmt.Sprintf("%d events of other agents told as background", len(t.Events))
	return kept, t
}

func (v viewer) answersOther(it item, authors map[string]string) bool {
	other := false
	eachResponse(it.content, func(fr *genai.FunctionResponse) {
		if fr.ID != "" {
			author := authors[fr.ID]
			other = other || author != "" && author != v.agent && author != authorUser
		}
	})
	return other
}

// listed makes a content of each group of items, with a line of trace for each.
func listed(groups [][]item, v viewer) ([]*genai.Content, []Trace) {
	contents := make([]*genai.Content, 0, len(groups))
	lines := make([]Trace, 0, len(groups))
	for i, group := range groups {
		c := joinedContent(group)
		contents = append(contents, c)
		t := Trace{Processor: "contents", Parts: len(c.Parts), Tokens: Tokens(c)}
		var origins []string
		for _, it := range group {
			origin := v.origin(it)
			if of := it.events(); len(of) > 0 {
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

// events are the places of the events that the item was made of.
func (it item) events() []string {
	var places []string
	for _, src := range slices.Concat([]int{it.src}, it.merged) {
		if src >= 0 {
			places = append(places, strconv.Itoa(src))
		}
	}
	return places
}

func (v viewer) origin(it item) string {
	switch {
	case it.src < 0 && !hasResponses(it.content):
		return "an opening, for a history that does not begin with the user"
	case it.src < 0:
		return "placeholders for calls that nothing answered"
	case hasResponses(it.content):
		return "results"
	case it.author == v.agent:
		return "own turn"
	case it.told:
		return "narrative"
	default:
		return "message"
	}
}
