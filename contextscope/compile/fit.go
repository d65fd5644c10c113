package compile

import (
	"fmt"
	"slices"
	"sort"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// fit trims a request that is too large for the model's window. It is a net for one request: the view stays as it is, and
// what makes room for good is compaction. Instruction, tools, background and brief are never touched.
func fit(st *state) {
	t := contextscope.Trace{}
	f := &fitting{state: st}
	if f.over() > 0 {
		t.Notes = f.trim()
	}
	st.req.Bytes, st.req.Tokens, st.req.Over = f.bytes(), f.tokens(), f.over()
	t.What = fmt.Sprintf("about %d tokens; no bound is known", st.req.Tokens)
	if st.in.Window > 0 {
		t.What = fmt.Sprintf("about %d of %d tokens", st.req.Tokens, st.in.Window)
	}
	if st.req.Over > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d tokens too many, and nothing more that may go", st.req.Over))
	}
	st.trace(t)
}

// trims lists the removable parts, in this order: what is cheapest to miss first. Each step takes something of its kind out and
// reports how much; 0 when there is nothing left of it.
var trims = []struct {
	what string
	step func(*fitting) int
}{
	{"notes from memory left out, the worst first", (*fitting).recalled},
	{"loaded artifacts shown as handles, the largest first", (*fitting).loaded},
	{"artifacts not listed, the oldest first", (*fitting).listed},
	{"large results shown as handles, the oldest first", (*fitting).result},
	{"turns left out, the oldest first", (*fitting).turns},
	{"results of the newest turn shown as handles, the largest first", (*fitting).newest},
}

// keptListed is how many artifacts stay listed in any case.
const keptListed = 10

// fitting is a request being trimmed.
type fitting struct {
	*state
	// mark is the next turn whose results are checked; cut reports that turns were left out.
	mark int
	cut  bool
}

// trim takes out what may go until the rest fits, and reports what went.
func (f *fitting) trim() []string {
	var notes []string
	for _, trim := range trims {
		n := 0
		for more := 1; more > 0 && f.over() > 0; n += more {
			more = trim.step(f)
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n, trim.what))
		}
	}
	return notes
}

func (f *fitting) tokens() int { return f.ratio.of(f.bytes()) }

// over is by how many tokens the request is too large.
func (f *fitting) over() int {
	if f.in.Window <= 0 {
		return 0
	}
	return max(0, f.tokens()-f.in.Window)
}

func (f *fitting) recalled() int {
	n := len(f.tail.recalled)
	f.tail.recalled = f.tail.recalled[:max(0, n-1)]
	return min(1, n)
}

func (f *fitting) loaded() int {
	largest, size := -1, 0
	for i, l := range f.tail.loaded {
		if n := len(l.part.Text); !l.cut && n > size {
			largest, size = i, n
		}
	}
	if largest < 0 {
		return 0
	}
	l := &f.tail.loaded[largest]
	l.cut = true
	text := fmt.Sprintf("Artifact %s has no room in this request (%d bytes): load a part of it.", l.handle, size)
	l.part = &genai.Part{Text: text}
	return 1
}

func (f *fitting) listed() int {
	n := len(f.tail.listed)
	if n <= keptListed {
		return 0
	}
	f.tail.listed = f.tail.listed[:n-1]
	f.tail.unlisted++
	return 1
}

// result masks the large results of the oldest turn that has any; never the newest turn's.
func (f *fitting) result() int {
	for ; f.mark < len(f.own.marks)-1; f.mark++ {
		m := &f.own.marks[f.mark]
		if len(m.results) > 0 && f.mask(m, m.content+1, func(*genai.Part) bool { return true }) {
			return 1
		}
	}
	return 0
}

// newest masks the largest result of the newest turn: the model can load parts of it, and no request at all is worse.
func (f *fitting) newest() int {
	marks := f.own.marks
	if len(marks) == 0 || len(marks[len(marks)-1].results) == 0 {
		return 0
	}
	m := &marks[len(marks)-1]
	at := m.content + 1 + len(f.draft.contents) - len(f.own.contents) // turns may have been left out before it
	largest := slices.MaxFunc(f.draft.contents[at].Parts, func(a, b *genai.Part) int { return resultBytes(a) - resultBytes(b) })
	if f.mask(m, at, func(part *genai.Part) bool { return part == largest }) {
		return 1
	}
	return 0
}

func resultBytes(p *genai.Part) int {
	if p.FunctionResponse == nil {
		return 0
	}
	return content.PartBytes(p)
}

// mask shows the large ones of a turn's results as handles, where that is wanted. It reports whether there were any.
func (f *fitting) mask(m *turnMark, at int, wanted func(*genai.Part) bool) bool {
	c, changed := compaction.MaskContent(f.draft.contents[at], func(part *genai.Part) (*genai.Part, bool) {
		src, _ := f.own.originOf(m, part)
		if src < 0 || !wanted(part) {
			return part, false
		}
		handle, done := compaction.MaskLarge(part, f.own.events[src].Seq)
		if done {
			f.made[handle] = Origin{Processor: nameFit, Event: f.own.label(src)}
		}
		return handle, done
	})
	if changed {
		f.draft.replace(at, c)
	}
	return changed
}

// turns leaves as many of the oldest turns out as it takes, with their results; never the newest turn. Steering stays.
func (f *fitting) turns() int {
	var cuts []int
	marks := f.own.marks
	for i := 1; i < len(marks); i++ {
		if marks[i].content != marks[i-1].content {
			cuts = append(cuts, i)
		}
	}
	if len(cuts) == 0 || f.cut {
		return 0
	}
	f.cut = true
	whole := f.draft
	n := sort.Search(len(cuts)-1, func(n int) bool {
		f.draft = f.from(whole, &marks[cuts[n]])
		return f.over() == 0
	})
	f.draft = f.from(whole, &marks[cuts[n]])
	return cuts[n]
}

// from is the contents of what stands before the first turn, what is said in place of those that are left out, and the turns
// from a mark on.
func (f *fitting) from(whole draft, m *turnMark) draft {
	from := f.own.marks[0].src
	var spared draft
	for src := from; src < m.src; src++ {
		if it, ok := steered(f.own.events, src); ok {
			spared.add(it.Content)
		}
	}
	first, last, n := left(f.own.events, from, m.src)
	said := genai.NewContentFromText(leftOutText(n, first, last), genai.RoleUser)
	f.made[said.Parts[0]] = Origin{Processor: nameFit}
	var d draft
	d.add(whole.contents[0])
	d.add(said)
	for _, c := range slices.Concat(spared.contents, whole.contents[m.content:]) {
		d.add(c)
	}
	return d
}
