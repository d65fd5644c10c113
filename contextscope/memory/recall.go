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
	"divisi/contextscope/content"
	"divisi/internal/text"
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
func (m *Memory) Recall(ctx context.Context, query string, maxTokens int) (recalled []contextscope.Recalled, notes []string) {
	room := maxTokens * 4
	if room < recallLeast {
		return nil, nil
	}
	enough := min(recallWords, len(asked(text.Head(query, maxQuery), maxAsked)))
	hits, err := m.search(ctx, query, recallHits, enough)
	if err != nil {
		return nil, []string{"nothing was recalled: " + err.Error()}
	}
	for _, h := range hits {
		shown := text.Head(h.Text, min(recallNote, room-len(h.Name)-len(h.Title)))
		if len(shown) < min(recallLeast, len(h.Text)) {
			continue
		}
		if len(shown) < len(h.Text) {
			shown = text.Clip(shown, len(shown)-len("…"))
		}
		recalled = append(recalled, contextscope.Recalled{Name: h.Name, Title: h.Title, Text: shown})
		room -= len(h.Name) + len(h.Title) + len(shown)
	}
	return recalled, nil
}

// RecallQuery makes the query for an agent's next turn: the task's title, the paths that matter, what the agent was told and
// shown since it spoke last, and the brief. Each part is bounded, so that none drowns the others.
func RecallQuery(task compile.Brief, events contextscope.Session, paths []string) string {
	const title, files, newest, brief = 200, 400, 500, 700
	touched := slices.Concat(calledPaths(events), paths)
	return strings.Join([]string{
		text.Head(task.Task.Title, title), text.Head(strings.Join(touched, " "), files), text.Head(lastTurn(events), newest),
		text.Head(task.Task.Brief, brief),
	}, "\n")
}

// newestTurn returns the events from the model's last turn on.
func newestTurn(events contextscope.Session) contextscope.Session {
	return events[max(0, events.LastTurn()):]
}

// calledPaths returns the paths that the model named in the calls of its last turn.
func calledPaths(events contextscope.Session) []string {
	var paths []string
	for _, e := range newestTurn(events) {
		content.EachCall(e.Content, func(fc *genai.FunctionCall) {
			paths = append(paths, compaction.CalledPaths(fc.Args)...)
		})
	}
	return paths
}

// lastTurn returns what was said and shown since the model spoke last, a bounded part of each piece.
func lastTurn(events contextscope.Session) string {
	const piece = 200
	var texts []string
	for _, e := range newestTurn(events) {
		if e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindBrief || !e.Kind.Spoken() || e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			if p != nil {
				texts = append(texts, text.Head(p.Text, piece))
			}
		}
		content.EachResponse(e.Content, func(fr *genai.FunctionResponse) {
			for _, key := range slices.Sorted(maps.Keys(fr.Response)) {
				if value, ok := fr.Response[key].(string); ok {
					texts = append(texts, text.Head(value, piece))
				}
			}
		})
	}
	return strings.Join(texts, "\n")
}
