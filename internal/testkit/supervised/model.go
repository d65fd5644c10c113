package main

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
)

// turns is how many turns a task takes: it reads, edits and hands in.
const turns = 3

var shardPath = regexp.MustCompile(`\b(?:handlers|clients|stores|codecs|validators|jobs)/\w+/\w+\.go\b`)

// model answers as agents would: it computes each edit, and takes its time.
type model struct {
	harbour *harbour
	pause   time.Duration // of one turn, on the average
}

func (m *model) answer(r geminitest.Request) geminitest.Answer {
	a := m.say(&r)
	a.Delay = spec.Duration(m.delay(&r))
	return a
}

// delay is between half the pause and one and a half.
func (m *model) delay(r *geminitest.Request) time.Duration {
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %d %d", r.Task, r.Attempt, r.Turn))
	return m.pause/2 + m.pause*time.Duration(sum%1000)/1000
}

func (m *model) say(r *geminitest.Request) geminitest.Answer {
	if r.Purpose != "turn" || len(r.Contents) == 0 {
		return geminitest.Answer{Text: "There is nothing to add."}
	}
	first := textOf(r)
	for i := range briefs {
		if briefs[i].task == r.Task {
			return briefs[i].say(r, strings.Contains(first, briefs[i].says))
		}
	}
	s := m.harbour.shards[own(r.Task, first)]
	if s == nil {
		return geminitest.Answer{Text: "I do not know this task."}
	}
	edits := s.Edits
	if r.Attempt > 1 {
		edits = s.Right
	}
	return work(r, s.Path, edits)
}

// own is the path of a shard that a task is about: the first one of its template.
func own(task, text string) string {
	for _, path := range shardPath.FindAllString(text, -1) {
		if kind, _, _ := strings.Cut(path, "/"); strings.HasPrefix(task, kind+"-") && !strings.HasSuffix(path, "_test.go") {
			return path
		}
	}
	return ""
}

// textOf returns the first prompt of the task.
func textOf(r *geminitest.Request) string {
	var b strings.Builder
	for _, p := range r.Contents[0].Parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

func (b *brief) say(r *geminitest.Request, wrong bool) geminitest.Answer {
	if wrong && b.asks != "" {
		if r.Turn == 1 {
			return geminitest.Answer{Calls: []geminitest.Call{{Name: spec.ToolAsk, Args: map[string]any{"question": b.asks}}}}
		}
		return work(r, b.path, []edit{b.good})
	}
	if wrong {
		return work(r, b.path, []edit{b.bad})
	}
	return work(r, b.path, []edit{b.good})
}

func work(r *geminitest.Request, path string, edits []edit) geminitest.Answer {
	switch r.Turn {
	case 1:
		return geminitest.Answer{
			Thought: "I read the file before I change it.",
			Calls:   []geminitest.Call{{Name: spec.ToolReadFile, Args: map[string]any{"path": path}}},
		}
	case 2:
		var list []any
		for _, e := range edits {
			list = append(list, map[string]any{"path": path, "old_text": e.From, "new_text": e.To, "replace_all": true})
		}
		return geminitest.Answer{
			Text:  "I make the change that the brief asks for.",
			Calls: []geminitest.Call{{Name: spec.ToolEditFile, Args: map[string]any{"edits": list}}},
		}
	}
	return geminitest.Answer{
		Calls: []geminitest.Call{{Name: spec.ToolSubmitResult, Args: map[string]any{"summary": "The change is made."}}},
	}
}
