package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// hands are a worker of the test's own: every attempt ends at once, as do says, or not where its result has no status. The
// returned function stops them.
func (r *rig) hands(ctx context.Context, do func(a *wire.Assignment) spec.Result) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for role := range r.spec.Roles {
		q, err := r.bus.Queue(ctx, role, bus.QueueOptions{Run: r.spec.Run})
		require.NoError(r.t, err)
		all.Go(func() {
			for {
				d, err := q.Next(ctx)
				if err != nil {
					return
				}
				r.handle(ctx, d, do)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func (r *rig) handle(ctx context.Context, d *bus.Delivery, do func(a *wire.Assignment) spec.Result) {
	var queued wire.Assignment
	if json.Unmarshal(d.Data, &queued) != nil {
		return
	}
	a, err := wire.Unseal(ctx, r.bus, queued.Object)
	if err != nil {
		return
	}
	result := do(a)
	if result.Status == "" { // it hands in none; one that cannot be read would fence all that this worker appends later
		return
	}
	result.Task, result.Attempt, result.Delivery = a.Task.ID, a.Attempt, d.Number
	if r.append(ctx, a, contextscope.KindResult, result) != nil {
		return
	}
	if d.Ack(ctx) != nil {
		return
	}
}

// append writes an agent's only event.
func (r *rig) append(ctx context.Context, a *wire.Assignment, kind contextscope.Kind, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	e := contextscope.Event{
		V: contextscope.EventVersion, ID: r.newID(), Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt, Agent: a.Agent(),
		Role: a.Role.Name, Author: a.Agent(), Time: time.Now(), Kind: kind, Data: raw, Seq: 1,
	}
	message, err := wire.EncodeEvents([]contextscope.Event{e})
	if err != nil {
		return err
	}
	_, err = r.bus.Append(ctx, bus.AttemptSubject(a.Run, "local", a.Role.Name, a.Task.ID, a.Attempt), message, 0)
	return err
}

// conduct makes a conductor, of a new run or of one that continues, and runs it to its end.
func (r *rig) conduct(ctx context.Context, cfg conductor.Config) (*run.State, error) {
	r.t.Helper()
	c, err := conductor.New(ctx, cfg)
	require.NoError(r.t, err)
	if c.State().Spec.Run == "" {
		require.NoError(r.t, c.Start(ctx, r.spec))
	}
	err = c.Run(ctx)
	return c.State(), err
}

func done() spec.Result { return spec.Result{Status: spec.StatusDone} }

func failed(class, message string) spec.Result {
	return spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: class, Message: message}}
}

// passes gives every gate of an assignment a good receipt.
func (r *rig) passes(a *wire.Assignment) spec.Result {
	tree, err := r.mirror.Tree(r.t.Context(), a.Head)
	require.NoError(r.t, err)
	result := done()
	for _, g := range a.Project.Gates {
		if len(a.Task.Gates) > 0 && !slices.Contains(a.Task.Gates, g.Name) {
			continue
		}
		result.Receipts = append(result.Receipts, spec.Receipt{Gate: g.Name, Tree: tree, Verdict: spec.VerdictPass})
	}
	return result
}

// patch commits one file on a commit of the checkout, and stores its pack.
func (r *rig) patch(head, name, text string) *spec.Patch {
	out := strings.Fields(sh(r.t, r.checkout.Top, fmt.Sprintf(`export GIT_INDEX_FILE=$(mktemp -u) GIT_ALTERNATE_OBJECT_DIRECTORIES=%[4]s/objects
git read-tree %[1]s && git update-index --add --cacheinfo 100644,$(echo %[3]s | git hash-object -w --stdin),%[2]s
tree=$(git write-tree) && commit=$(git -c user.name=t -c user.email=t@t commit-tree -p %[1]s -m x $tree)
rm -f $GIT_INDEX_FILE && echo $commit $tree && git diff-tree -r --numstat %[1]s $commit`, head, name, text, r.mirror.Dir())))
	pack := sh(r.t, r.checkout.Top, fmt.Sprintf(
		`printf '%s\n^%s\n' | GIT_ALTERNATE_OBJECT_DIRECTORIES=%s/objects git pack-objects --revs --stdout -q --thin`,
		out[0], head, r.mirror.Dir()))
	require.NoError(r.t, r.bus.Put(r.t.Context(), "pack-"+out[0], []byte(pack)))
	added, err := strconv.Atoi(out[2])
	require.NoError(r.t, err)
	deleted, err := strconv.Atoi(out[3])
	require.NoError(r.t, err)
	return &spec.Patch{
		Commit: out[0], Tree: out[1], Base: head, Pack: "pack-" + out[0], Files: []string{name}, Added: added, Deleted: deleted,
	}
}
