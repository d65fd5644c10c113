package memory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/compile"
)

const (
	// recallHits is how many notes are put into a request unasked, at most.
	recallHits = 5
	// recallNote bounds the text of each in bytes, recallLeast is what is still worth showing.
	recallNote  = maxSnippet
	recallLeast = 120
	// recallWords is how many of a turn's words a note must hold: one alone is met by chance.
	recallWords = 2
)

// Recall returns the notes that fit a turn best, as the tail of its request holds them: a few, the best first, together of at
// most maxTokens estimated tokens (bytes/4). It never fails: what goes wrong gives nothing, and a reason.
func Recall(ctx context.Context, m *Memory, query string, maxTokens int) (recalled []contextscope.Recalled, notes []string) {
	room := maxTokens * 4
	if m == nil || room < recallLeast {
		return nil, nil
	}
	enough := min(recallWords, len(asked(cut(query, maxQuery), maxAsked)))
	hits, err := m.search(ctx, query, recallHits, enough)
	if err != nil {
		return nil, []string{"nothing was recalled: " + err.Error()}
	}
	for _, h := range hits {
		text := cut(h.Text, min(recallNote, room-len(h.Name)-len(h.Title)))
		if len(text) < min(recallLeast, len(h.Text)) {
			continue
		}
		if len(text) < len(h.Text) {
			text = cut(text, len(text)-len("…")) + "…"
		}
		recalled = append(recalled, contextscope.Recalled{Name: h.Name, Title: h.Title, Text: text})
		room -= len(h.Name) + len(h.Title) + len(text)
	}
	return recalled, nil
}

// RecallQuery makes the query for an agent's next turn: the task's title, the paths that matter, what the agent was told and
// shown since it spoke last, and the brief. Each part is bounded, so that none drowns the others.
func RecallQuery(task compile.Brief, events contextscope.Session, paths []string) string {
	const title, files, newest, brief = 200, 400, 500, 700
	touched := slices.Concat(calledPaths(events), paths)
	return strings.Join([]string{
		cut(task.Task.Title, title), cut(strings.Join(touched, " "), files), cut(lastTurn(events), newest),
		cut(task.Task.Brief, brief),
	}, "\n")
}

// newestTurn returns the events from the model's last turn on.
func newestTurn(events contextscope.Session) contextscope.Session {
	for i, e := range slices.Backward(events) {
		if e.Kind == contextscope.KindTurn {
			return events[i:]
		}
	}
	return events
}

// calledPaths returns the paths that the model named in the calls of its last turn.
func calledPaths(events contextscope.Session) []string {
	var paths []string
	for _, e := range newestTurn(events) {
		eachPart(e.Content, func(p *genai.Part) {
			if p.FunctionCall != nil {
				paths = append(paths, compaction.CalledPaths(p.FunctionCall.Args)...)
			}
		})
	}
	return paths
}

// lastTurn returns what was said and shown since the model spoke last, a bounded part of each piece.
func lastTurn(events contextscope.Session) string {
	const piece = 200
	var texts []string
	for _, e := range newestTurn(events) {
		if e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindBrief || !e.Kind.Spoken() {
			continue
		}
		eachPart(e.Content, func(p *genai.Part) {
			texts = append(texts, cut(p.Text, piece))
			if p.FunctionResponse == nil {
				return
			}
			for _, key := range slices.Sorted(maps.Keys(p.FunctionResponse.Response)) {
				if text, ok := p.FunctionResponse.Response[key].(string); ok {
					texts = append(texts, cut(text, piece))
				}
			}
		})
	}
	return strings.Join(texts, "\n")
}

func eachPart(c *genai.Content, do func(*genai.Part)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p != nil {
			do(p)
		}
	}
}
