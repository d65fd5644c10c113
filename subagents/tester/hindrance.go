package tester

import (
	"context"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// hindrance is why gates cannot prove a tree: something that they need is not there. It makes them red.
type hindrance struct {
	// signature, message and output are those of the receipts; stored is the object with the whole output.
	signature, message, output, stored string
	// why is the cause alone.
	why string
	// paths are the files that led to it.
	paths []string
	// late has the gates run all the same: those that are red are so because of it.
	late bool
}

// unable is the receipt of a gate that did not run.
func (t *Executor) unable(ctx context.Context, g *spec.Gate, h *hindrance) (spec.Receipt, error) {
	r := spec.Receipt{Gate: g.Name, Command: g.Command, Tree: t.Tree, Environment: t.environment, Output: h.stored}
	h.blame(&r)
	return r, t.leave(ctx, &r)
}

// blame makes a receipt red. What else failed is a consequence.
func (h *hindrance) blame(r *spec.Receipt) {
	for _, other := range r.Signatures {
		if _, known := r.Follows[other]; len(h.paths) > 0 && !known {
			set(&r.Follows, other, h.signature)
		}
	}
	r.Verdict, r.Signatures = spec.VerdictFail, append(r.Signatures, h.signature)
	slices.Sort(r.Signatures)
	if len(h.paths) > 0 {
		set(&r.Paths, h.signature, h.paths)
	}
	if r.ExitCode == 0 {
		r.ExitCode = -1
	}
	r.Tail = "error: " + h.message + "\n" + text.Tail(h.output+r.Tail, gate.MaxTail/2)
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}
