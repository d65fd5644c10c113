package compile

import (
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
)

// maxListed is how many artifacts a request lists.
const maxListed = 20

// artifacts lists the handles of what the agent can load, and writes what it has asked for, as data.
type artifacts struct{}

// Name implements processor.
func (artifacts) Name() string { return "artifacts" }

// Process implements processor.
func (p artifacts) Process(st *state) {
	all := st.in.Tail.Artifacts
	for i := len(all) - 1; i >= max(0, len(all)-maxListed); i-- {
		st.tail.listed = append(st.tail.listed, lineOf(&all[i]))
	}
	st.tail.unlisted = len(all) - len(st.tail.listed)
	bytes := len(st.tail.list())
	for _, l := range st.in.Tail.Loaded {
		title := "Artifact " + narrative.ElideName(content.Valid(l.Handle))
		if l.What != "" {
			title += " (" + narrative.ElideName(content.Valid(l.What)) + ")"
		}
		part := st.narrator.Quoted(title, content.Valid(l.Text))
		bytes += len(part.Text)
		st.tail.loaded = append(st.tail.loaded, loadedPart{handle: narrative.ElideName(content.Valid(l.Handle)), part: part})
	}
	st.trace(contextscope.Trace{
		Processor: p.Name(),
		What:      fmt.Sprintf("%d of %d handles, %d loaded", len(st.tail.listed), len(all), len(st.in.Tail.Loaded)),
		Parts:     len(st.tail.loaded) + min(1, len(st.tail.listed)), Tokens: content.TokensOf(bytes),
	})
}

// lineOf is an artifact in the list.
func lineOf(l *contextscope.Listed) string {
	line := narrative.ElideName(content.Valid(l.Handle))
	if l.What != "" {
		line += ": " + narrative.ElideName(content.Valid(l.What))
	}
	if l.Bytes > 0 {
		line += fmt.Sprintf(" (%d bytes)", l.Bytes)
	}
	return line
}

// list is the list as it is written; empty when there is nothing to list.
func (t *tail) list() string {
	if len(t.listed) == 0 {
		return ""
	}
	text := listText + "\n- " + strings.Join(t.listed, "\n- ")
	if t.unlisted > 0 {
		text += fmt.Sprintf("\nand %d older ones", t.unlisted)
	}
	return text
}
