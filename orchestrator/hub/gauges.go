package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/host"
	"divisi/orchestrator/metrics"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// maxRunLabels bounds the runs that have numbers of their own: the newest ones. Those of the others are together, without a run.
const maxRunLabels = 50

// gauges are the numbers of a server. One call at a time gathers them.
type gauges struct {
	bus  *bus.Bus
	host *host.Host
	// filled is that of the server's bus, certificate when its certificate ends; without them on a server that was there already.
	filled      func() (used, ceiling int64, ok bool)
	certificate time.Time
	// limits are quotas that workers reported since this process began.
	limits depot.Limits
	// folded has the runs that continue, folded from what was read of their logs; ended has how the others ended.
	folded map[string]*run.State
	ended  map[string]run.Status
}

// show shows the numbers until c releases, and returns where.
func (g *gauges) show(ctx context.Context, addr string, at depot.Server, c *depot.Closers) (url string, err error) {
	g.folded, g.ended = map[string]*run.State{}, map[string]run.Status{}
	if g.bus, err = at.Open(ctx, ""); err != nil {
		return "", err
	}
	c.Later(func() { closeServer(ctx, g.bus) })
	deaf, err := depot.ListenLimits(ctx, g.bus, &g.limits)
	if err != nil {
		return "", err
	}
	c.Later(deaf)
	listens, stop, err := metrics.Serve(ctx, addr, g.gather)
	if err != nil {
		return "", err
	}
	c.Later(stop)
	return "http://" + listens + "/metrics", nil
}

func (g *gauges) gather(ctx context.Context) (all []metrics.Family, err error) {
	for _, of := range []func(context.Context) ([]metrics.Family, error){g.queue, g.workers, g.runs, g.waits, g.store} {
		more, err := of(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// queue counts what waits for workers, or is with them, by role and run.
func (g *gauges) queue(ctx context.Context) ([]metrics.Family, error) {
	queued, err := g.bus.Queued(ctx, "task.>")
	if err != nil {
		return nil, err
	}
	f := metrics.Family{
		Name: "divisi_queue_attempts", Help: "Attempts that wait for a worker or are with one.", Labels: []string{"role", "run"},
	}
	count, runs := map[[2]string]int{}, map[string]bool{}
	for _, s := range queued {
		if t := strings.Split(s, "."); len(t) == 4 {
			count[[2]string{t[1], t[2]}]++
			runs[t[2]] = true
		}
	}
	newest := slices.Sorted(maps.Keys(runs))
	newest = newest[max(0, len(newest)-maxRunLabels):]
	sum := map[[2]string]int{}
	for of, n := range count {
		if !slices.Contains(newest, of[1]) {
			of[1] = ""
		}
		sum[of] += n
	}
	for _, of := range slices.SortedFunc(maps.Keys(sum), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		f.Add(float64(sum[of]), of[0], of[1])
	}
	return []metrics.Family{f}, nil
}

// workers counts them by their states, and the places of each.
func (g *gauges) workers(ctx context.Context) ([]metrics.Family, error) {
	list, err := roll(ctx, g.bus)
	if err != nil {
		return nil, err
	}
	states := metrics.Family{Name: "divisi_workers", Help: "Workers that are there.", Labels: []string{"state"}}
	places := metrics.Family{
		Name: "divisi_worker_places", Help: "How much a worker does at once.", Labels: []string{"worker", "kind"},
	}
	used := metrics.Family{
		Name: "divisi_worker_places_used", Help: "How much a worker does now.", Labels: []string{"worker", "kind"},
	}
	count := map[wire.WorkerState]int{}
	for _, p := range list {
		state := p.State
		if p.Incompatible != "" {
			state = wire.WorkerIncompatible
		}
		count[state]++
		agents, gates := atWork(p)
		places.Add(float64(p.Agents), p.Worker, "agents")
		places.Add(float64(p.Gates), p.Worker, "gates")
		used.Add(float64(agents), p.Worker, "agents")
		used.Add(float64(gates), p.Worker, "gates")
	}
	for _, s := range []wire.WorkerState{
		wire.WorkerReady, wire.WorkerPaused, wire.WorkerLacking, wire.WorkerDraining, wire.WorkerIncompatible,
	} {
		states.Add(float64(count[s]), string(s))
	}
	return []metrics.Family{states, places, used}, nil
}

// atWork counts the agents of a worker that work, and its runs of gates: those are not of a task of the plan.
func atWork(p *wire.Presence) (agents, gates int) {
	for _, s := range p.Runs {
		for _, at := range s.At {
			if strings.HasPrefix(at, "--") || strings.Contains(at, run.RedSuffix+"--") {
				gates++
			} else {
				agents++
			}
		}
	}
	return agents, gates
}

// runs counts the runs that this host has by their states, and the decisions that are open in those that have not ended.
func (g *gauges) runs(ctx context.Context) ([]metrics.Family, error) {
	states := metrics.Family{Name: "divisi_runs", Help: "Runs that the host has.", Labels: []string{"state"}}
	open := metrics.Family{Name: "divisi_decisions_open", Help: "Decisions that wait for a person or a master."}
	count, decisions, had := map[run.Status]int{}, 0, map[string]bool{}
	for _, id := range g.host.List() {
		status, waiting, err := g.runNow(ctx, id)
		if err != nil {
			return nil, err
		}
		had[id] = true
		count[status]++
		decisions += waiting
	}
	maps.DeleteFunc(g.folded, func(id string, _ *run.State) bool { return !had[id] })
	maps.DeleteFunc(g.ended, func(id string, _ run.Status) bool { return !had[id] })
	for _, s := range slices.Sorted(maps.Keys(count)) {
		states.Add(float64(count[s]), string(s))
	}
	open.Add(float64(decisions))
	return []metrics.Family{states, open}, nil
}

// runNow folds what is new in the log of a run. That of one which has ended is not read again.
func (g *gauges) runNow(ctx context.Context, id string) (status run.Status, decisions int, err error) {
	active := g.host.Active(id)
	if ended := g.ended[id]; ended != "" && !active {
		return ended, 0, nil
	}
	delete(g.ended, id)
	st := g.folded[id]
	if st == nil {
		st = run.NewState()
	}
	if err := (eventlog.Log{Bus: g.bus, Run: id}).Into(ctx, st, func(*contextscope.Event) {}); err != nil {
		return "", 0, err
	}
	if g.folded[id] = st; st.Status.Ended() {
		if !active {
			delete(g.folded, id)
			g.ended[id] = st.Status
		}
		return st.Status, 0, nil
	}
	return st.Status, len(decision.Open(st)), nil
}

// waits tells for how long services have asked to be left alone.
func (g *gauges) waits(context.Context) ([]metrics.Family, error) {
	count := metrics.Family{Name: "divisi_limits", Help: "Limits of model services that hold.", Labels: []string{"for"}}
	left := metrics.Family{
		Name: "divisi_limit_wait_seconds", Help: "How long the longest of them still holds.", Labels: []string{"for"},
	}
	number, longest := map[string]int{}, map[string]time.Duration{}
	for _, w := range g.limits.List() {
		number[w.For]++
		longest[w.For] = max(longest[w.For], time.Until(w.Until))
	}
	for _, of := range slices.Sorted(maps.Keys(number)) {
		count.Add(float64(number[of]), of)
		left.Add(longest[of].Seconds(), of)
	}
	return []metrics.Family{count, left}, nil
}

// store reports how full the server's own store is, and when its certificate ends.
func (g *gauges) store(context.Context) ([]metrics.Family, error) {
	if g.filled == nil {
		return nil, nil
	}
	used, ceiling, ok := g.filled()
	if !ok {
		return nil, fmt.Errorf("ask the server for the size of its store: %w", bus.ErrUnavailable)
	}
	has := metrics.Family{Name: "divisi_store_bytes", Help: "What the store of the server has."}
	has.Add(float64(used))
	can := metrics.Family{Name: "divisi_store_ceiling_bytes", Help: "What the store can have, with the room of its disk."}
	can.Add(float64(ceiling))
	ends := metrics.Family{Name: "divisi_certificate_end_timestamp_seconds", Help: "When the certificate of the server ends."}
	ends.Add(float64(g.certificate.Unix()))
	return []metrics.Family{has, can, ends}, nil
}
