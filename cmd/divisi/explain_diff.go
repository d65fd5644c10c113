package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"divisi/contextscope"
	"divisi/orchestrator/console"
	"divisi/subagents"
)

// sentPart is one part of a request, with its place and origin.
type sentPart struct {
	Place  string              `json:"place"`
	Origin contextscope.Origin `json:"origin,omitzero"`
	Text   string              `json:"text"`
	tokens int
}

// requestDiff is what differs between the requests of two turns. Requests grow at their end, so one piece is all there is
// between what both begin and what both end with.
type requestDiff struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Same counts the parts, from the first on, that both have; SameTokens is their estimated size.
	Same       int        `json:"same_parts"`
	SameTokens int        `json:"same_tokens"`
	Gone       []sentPart `json:"gone"`
	New        []sentPart `json:"new"`
	// After counts the parts at the end that both have.
	After int `json:"same_parts_after"`
}

// showDiff shows what changed between two turns.
func (g *globals) showDiff(ctx context.Context, e *subagents.Explainer, turns string) error {
	from, to, err := splitTurns(turns)
	if err != nil {
		return err
	}
	a, err := e.Turn(ctx, from)
	if err != nil {
		return err //nolint:wrapcheck // it names the attempt
	}
	b, err := e.Turn(ctx, to)
	if err != nil {
		return err //nolint:wrapcheck // it names the attempt
	}
	d := diffRequests(sentParts(a), sentParts(b))
	d.From, d.To = from, to
	if g.json() {
		return encodeLine(g.out, d)
	}
	return writeDiff(g.out, d)
}

// splitTurns reads N..M.
func splitTurns(text string) (from, to int, err error) {
	a, b, ok := strings.Cut(text, "..")
	from, errA := strconv.Atoi(a)
	to, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil || from < 1 || to < 1 {
		return 0, 0, usagef("--diff %q: want two turns, such as 3..4", text)
	}
	return from, to, nil
}

// sentParts lists a request's parts in the order of its bytes.
func sentParts(x subagents.Explained) []sentPart {
	var out []sentPart
	if x.System != nil {
		for _, p := range x.System.Parts {
			out = append(out, sentPart{Place: "system", Text: partText(p), tokens: (len(p.Text) + 3) / 4})
		}
	}
	for _, t := range x.Tools {
		for _, d := range t.FunctionDeclarations {
			out = append(out, sentPart{Place: "tool " + d.Name, Text: inline(d), tokens: (len(inline(d)) + 3) / 4})
		}
	}
	for i, c := range x.Contents {
		for n, p := range c.Parts {
			out = append(out, sentPart{
				Place: fmt.Sprintf("content %d, %s", i+1, c.Role), Origin: originOf(x, i, n), Text: partText(p),
				tokens: (len(partText(p)) + 3) / 4,
			})
		}
	}
	return out
}

func diffRequests(a, b []sentPart) requestDiff {
	d := requestDiff{Gone: []sentPart{}, New: []sentPart{}}
	alike := func(x, y sentPart) bool { return x.Place == y.Place && x.Text == y.Text }
	for d.Same < min(len(a), len(b)) && alike(a[d.Same], b[d.Same]) {
		d.SameTokens += a[d.Same].tokens
		d.Same++
	}
	a, b = a[d.Same:], b[d.Same:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].Text == b[len(b)-1].Text {
		a, b = a[:len(a)-1], b[:len(b)-1]
		d.After++
	}
	d.Gone, d.New = append(d.Gone, a...), append(d.New, b...)
	return d
}

func writeDiff(w io.Writer, d requestDiff) error {
	fmt.Fprintf(w, "turn %d to turn %d: the first %d parts are the same (about %d tokens)\n", d.From, d.To, d.Same, d.SameTokens)
	for _, side := range []struct {
		sign  string
		parts []sentPart
	}{{"-", d.Gone}, {"+", d.New}} {
		for _, p := range side.parts {
			origin := p.Origin.Processor
			if p.Origin.Event != "" {
				origin += " " + p.Origin.Event
			}
			fmt.Fprintf(w, "%s %s  [%s]\n", side.sign, p.Place, console.Sanitize(origin))
			fmt.Fprintf(w, "%s   %s\n", side.sign, strings.ReplaceAll(p.Text, "\n", "\n"+side.sign+"   "))
		}
	}
	if d.After > 0 {
		fmt.Fprintf(w, "the last %d parts are the same\n", d.After)
	}
	return nil
}
