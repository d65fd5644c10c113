package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
)

// ErrUnverified says that nothing which lands in a run could be proven, and that the run is not allowed to go on without.
var ErrUnverified = errors.New("what lands cannot be verified")

// endPreflight keeps the baseline. The run goes on from there unless nothing that it lands could be proven.
func (c *Conductor) endPreflight(ctx context.Context, baseline []spec.Receipt) (bool, error) {
	with := *c.st
	with.Baseline = map[string]spec.Receipt{}
	for _, r := range baseline {
		with.Baseline[r.Gate] = r
	}
	d := run.Data{Baseline: baseline, Unverified: acceptance.Unverified(&with)}
	for _, g := range acceptance.Incomparables(&with) {
		d.Notices = append(d.Notices, g.String())
	}
	if !acceptance.Unproven(&with) {
		d.State = c.afterPreflight()
	}
	if err := c.append(ctx, contextscope.KindRun, "", d); err != nil || d.State != "" {
		return true, err
	}
	return false, fmt.Errorf("%w: %s", ErrUnverified, d.Unverified)
}
