package merge

import (
	"context"
	"slices"

	"divisi/orchestrator/store"
	"divisi/subagents/gate"
)

// red are the failures of the gates on a commit, sorted; blind are gates that cannot be compared, with the reason.
func (m *Command) red(ctx context.Context, repo, commit string) (failures, blind []string, err error) {
	id, err := m.Try(ctx, repo, commit)
	if err != nil {
		return nil, nil, err
	}
	d := store.Dir{Path: m.StateDir, Log: m.Log}
	st, _, err := d.State(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	for name, r := range st.Proofs.Baseline {
		if why := gate.Incomparable(r); why != "" {
			blind = append(blind, name+" "+why)
			continue
		}
		for _, s := range r.Signatures {
			failures = append(failures, name+": "+s)
		}
	}
	slices.Sort(failures)
	slices.Sort(blind)
	return failures, blind, nil
}
