package grade

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/grade/calls"
)

// listed asks each compiler of TypeScript that the gate runs which files it compiles, where there is one in question. A call that
// does not always run is left out.
func (r *Reading) listed(ctx context.Context) (map[string]bool, error) {
	listed := map[string]bool{}
	if !slices.ContainsFunc(r.files, func(f File) bool { return f.Language == calls.TypeScript }) || r.gate.List == nil {
		return listed, nil
	}
	for _, call := range r.calls.List {
		builds := slices.Contains(call.Words, "-b") || slices.Contains(call.Words, "--build")
		if !call.Sure || builds || call.Words[0] != "tsc" && call.Words[0] != "vue-tsc" {
			continue
		}
		command := slices.Concat(call.Prefix, call.Words, []string{"--listFilesOnly"})
		if len(call.Prefix) == 0 {
			command = slices.Concat([]string{"npx", "--no-install"}, command)
		}
		out, ok, err := r.gate.List(ctx, command, call.Dir)
		if err != nil {
			return nil, fmt.Errorf("list the inputs of tsc: %w", err)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSpace(line)
			if name, inside := strings.CutPrefix(line, r.gate.Seen+"/"); ok && inside {
				listed[path.Clean(name)] = true
			}
		}
	}
	return listed, nil
}

// typeScript grades a file that a compiler checks, or a runner of tests strips of its types and runs.
func (r *Reading) typeScript(f File, listed map[string]bool) (u *spec.Unread, question bool) {
	only := r.calls.Whole && r.calls.Any(calls.TypeScript, calls.Runs) && r.sweeps(true) == "" && !r.calls.Any("", calls.Compiles)
	if listed[f.Path] || only && r.opened.paths[f.Path] {
		return nil, false
	}
	return r.compiled(f)
}
