package explain

import (
	"context"
	"fmt"
	"io"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/agent"
)

// sentPart is one part of a request, with its place and origin.
type sentPart struct {
	Place  string `json:"place"`
	Origin string `json:"origin,omitempty"`
	Text   string `json:"text"`
	tokens int
}

// requestDiff is the difference between the requests of two turns. Requests grow at their end, and each has its own tail: the
// difference is the one piece between their common beginning and their common end before the tails.
type requestDiff struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Same counts the parts, from the first on, that both have; SameTokens is their estimated size.
	Same       int        `json:"same_parts"`
	SameTokens int        `json:"same_tokens"`
	Gone       []sentPart `json:"gone"`
	New        []sentPart `json:"new"`
	// After counts the parts before the tails, from the last on, that both have.
	After int `json:"same_parts_after"`
}

// compare finds what changed between two turns.
func compare(ctx context.Context, e *agent.Explainer, from, to int) (d requestDiff, err error) {
	a, err := e.Turn(ctx, from)
	if err != nil {
		return d, err
	}
	b, err := e.Turn(ctx, to)
	if err != nil {
		return d, err
	}
	d = diffRequests(sentParts(a), sentParts(b), a.TailParts, b.TailParts)
	d.From, d.To = from, to
	return d, nil
}

// sentParts lists a request's parts in the order of its bytes.
func sentParts(x agent.Explained) []sentPart {
	var out []sentPart
	if x.System != nil {
		for _, p := range x.System.Parts {
			out = append(out, sentPart{Place: "system", Text: partText(p), tokens: (len(p.Text) + 3) / 4})
		}
	}
	for _, t := range x.Tools {
		for _, d := range t.FunctionDeclarations {
			out = append(out, sentPart{Place: "tool " + d.Name, Text: spec.JSONText(d), tokens: (len(spec.JSONText(d)) + 3) / 4})
		}
	}
	for i, c := range x.Contents {
		for n, p := range c.Parts {
			out = append(out, sentPart{
				Place: fmt.Sprintf("content %d, %s", i+1, c.Role), Origin: originText(x, i, n), Text: partText(p),
				tokens: (len(partText(p)) + 3) / 4,
			})
		}
	}
	return out
}

func diffRequests(a, b []sentPart, tailA, tailB int) requestDiff {
	d := requestDiff{Gone: []sentPart{}, New: []sentPart{}}
	for d.Same < min(len(a), len(b)) && a[d.Same].Place == b[d.Same].Place && a[d.Same].Text == b[d.Same].Text {
		d.SameTokens += a[d.Same].tokens
		d.Same++
	}
	bodyA, restA := cutTail(a[d.Same:], tailA)
	bodyB, restB := cutTail(b[d.Same:], tailB)
	for len(bodyA) > 0 && len(bodyB) > 0 && bodyA[len(bodyA)-1].Text == bodyB[len(bodyB)-1].Text {
		bodyA, bodyB = bodyA[:len(bodyA)-1], bodyB[:len(bodyB)-1]
		d.After++
	}
	d.Gone = append(append(d.Gone, bodyA...), restA...)
	d.New = append(append(d.New, bodyB...), restB...)
	return d
}

func cutTail(parts []sentPart, tail int) (body, rest []sentPart) {
	n := max(0, len(parts)-tail)
	return parts[:n:n], parts[n:]
}

func writeDiff(w io.Writer, d requestDiff) error {
	fmt.Fprintf(w, "turn %d to turn %d: the first %d parts are the same (about %d tokens)\n", d.From, d.To, d.Same, d.SameTokens)
	for _, side := range []struct {
		sign  string
		parts []sentPart
	}{{"-", d.Gone}, {"+", d.New}} {
		for _, p := range side.parts {
			fmt.Fprintf(w, "%s %s  [%s]\n", side.sign, p.Place, p.Origin)
			fmt.Fprintf(w, "%s   %s\n", side.sign, strings.ReplaceAll(p.Text, "\n", "\n"+side.sign+"   "))
		}
	}
	if d.After > 0 {
		fmt.Fprintf(w, "the %d parts after the changed ones are the same\n", d.After)
	}
	return nil
}
