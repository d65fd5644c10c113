package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"divisi/bus"
	"divisi/internal/sandbox"
	"divisi/internal/usage"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
)

// PutEnvironment puts an environment into a cache. It is in a file below dir until it is there.
func PutEnvironment(ctx context.Context, to bus.Cache, dir string, e *environment.Environment) (SealedPack, error) {
	return putSealed(ctx, to, dir, wire.SealedEnvironment, "environment "+e.ID, func(w io.Writer) error { return e.Send(ctx, w) })
}

// Receive keeps an environment that comes from another machine, unless this one has it. content is the digest of what it has; ""
// for any, of a conductor of an earlier version.
func (p *Place) Receive(
	ctx context.Context, id, content string, notice func(string),
	from func(context.Context, func(context.Context, io.Reader) error) error,
) error {
	e, err := p.Environments.Open(id)
	switch {
	case err == nil && content != "" && e.Content != content:
		return usage.Errorf("this machine has another environment %.80s than the one that is named", id)
	case !errors.Is(err, environment.ErrNone) && !errors.As(err, new(*environment.DamagedError)):
		return err
	}
	err = from(ctx, func(ctx context.Context, r io.Reader) error {
		_, err := p.Environments.Receive(ctx, id, content, r, func() { notice("waiting for another run, which gets the same") })
		return err
	})
	if err != nil {
		return fmt.Errorf("get the environment %.80s: %w", id, err)
	}
	return nil
}

// System is that of this machine, as a setup names it.
func System() string { return runtime.GOOS + "/" + runtime.GOARCH }

// Has reports whether an environment is there, whole.
func (p *Place) Has(id string) (bool, error) {
	_, err := p.Environments.Open(id)
	if errors.Is(err, environment.ErrNone) || errors.As(err, new(*environment.DamagedError)) {
		return false, nil
	}
	return err == nil, err
}

// FromCheckout makes an environment of ignored paths of a checkout.
func (p *Place) FromCheckout(
	ctx context.Context, root *os.Root, paths []string, notice func(string),
) (*environment.Environment, error) {
	r := environment.Recipe{System: runtime.GOOS, Arch: runtime.GOARCH, Level: sandbox.Probe().Name()}
	e, _, err := p.Environments.FromCheckout(ctx, r, root, paths, func() {
		notice("waiting for another run, which takes the same")
	})
	var changed *environment.ChangedError
	var bad *environment.BadContentError
	switch {
	case errors.As(err, &changed):
		return nil, usage.Errorf("environment: %v", changed)
	case errors.As(err, &bad):
		return nil, usage.Errorf("environment: the checkout cannot be used: %s", bad.Why)
	case errors.Is(err, fs.ErrPermission):
		return nil, usage.Errorf("environment: %v\nName the paths that gates need without it in .divisi/divisi.yaml", err)
	}
	return e, err
}
