package twin

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"divisi/internal/sandbox"
	"divisi/subagents/service"
)

// serve starts the services of the project beside the gates: outside the sandbox too, each with a home of its own as there. An
// outcome that is not nil is that of one which fails. end is never nil.
func (t *twin) serve(ctx context.Context) (failed *Outcome, end func(), err error) {
	if len(t.Services) == 0 {
		return nil, func() {}, nil
	}
	t.Doing("services")
	set, err := service.Start(ctx, service.Config{
		Services: t.Services, Dir: filepath.Join(t.dir, "services"), Prepared: filepath.Join(t.dir, "prepared"),
		Command: sandbox.Command{Dir: t.tree, Env: append(slices.Clone(t.environ), sandbox.WorkerVar+"="+services)},
		Run: func(ctx context.Context, c sandbox.Command) (*sandbox.Output, error) {
			c.Env = append(c.Env, "HOME="+c.Place.Home, "TMPDIR="+c.Place.Temp) // which are where they are
			return start(ctx, c, true)
		},
	})
	if bad := new(service.FailedError); errors.As(err, &bad) {
		return &Outcome{Gate: services, Exit: 1, Output: bad.Error() + "\n" + bad.Output}, func() {}, t.lack()
	}
	if err != nil {
		return nil, func() {}, err
	}
	t.environ = append(t.environ, service.Env(t.Services)...)
	return nil, set.Close, nil
}
