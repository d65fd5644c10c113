package gate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate/trace"
)

// The bounds of what a gate is narrowed to.
const (
	affectedTimeout = 2 * time.Minute
	maxTargets      = 2000
	maxTargetBytes  = 64 << 10
)

// Change is the difference between two trees.
type Change struct {
	// Since is the commit of the older one, Paths are those that differ, and Files those of the newer one.
	Since        string
	Paths, Files []string
}

// Narrow finds what a change affects, for a gate that can be narrowed to it. where.Targets and where.Since are set then; else
// where.Whole is why the gate runs in full. A command that fails, or that prints what cannot be right, is no error: the gate is
// not to prove less for it.
func Narrow(ctx context.Context, g spec.Gate, where *Where, change Change) (err error) {
	var targets []string
	switch {
	case len(change.Paths) == 0:
		where.Whole = "no file has changed"
	case len(g.Affected) > 0:
		targets, where.Whole, err = printed(ctx, &g, where, change.Paths)
	default:
		targets, where.Whole, err = trace.Affected(where.Dir, g.Command, change.Files, change.Paths)
	}
	if err != nil {
		return fmt.Errorf("find the affected parts for gate %s: %w", g.Name, err)
	}
	if n := len(strings.Join(targets, "\n")); len(targets) > maxTargets || n > maxTargetBytes {
		where.Whole = fmt.Sprintf("the change affects %d targets of %d bytes", len(targets), n)
	}
	if where.Whole == "" {
		where.Targets, where.Since = targets, change.Since
	}
	return nil
}

// printed runs a gate's command that maps changed files to targets. whole is why its output is not used.
func printed(ctx context.Context, g *spec.Gate, where *Where, changed []string) (targets []string, whole string, err error) {
	command, timeout := g.Affected, min(affectedTimeout, cmp.Or(g.Timeout.Std(), DefaultTimeout))
	if i := slices.IndexFunc(changed, unprintable); i >= 0 {
		return nil, fmt.Sprintf("the changed file %q cannot be named in a line", changed[i]), nil
	}
	var out bytes.Buffer
	end, err := sandbox.Run(ctx, sandbox.Command{
		Args: command, Dir: where.Dir, Env: where.Env, Place: where.Place, Writable: where.Writable, Readable: where.Readable,
		More: true, Timeout: timeout, Stdin: []byte(strings.Join(changed, "\n") + "\n"), DropErrors: true, Sink: &out,
		MaxSink: maxTargetBytes,
	})
	var none *sandbox.NotFoundError
	switch {
	case errors.As(err, &none), errors.Is(err, sandbox.ErrInvalid):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("run %s: %w", command[0], err)
	case end.Cancelled:
		return nil, "", fmt.Errorf("run %s: %w", command[0], context.Cause(ctx))
	case end.TimedOut:
		return nil, fmt.Sprintf("%s took longer than %s", command[0], timeout), nil
	case !end.Success():
		return nil, HowEnded(command, end), nil
	case end.SinkOmitted > 0:
		return nil, fmt.Sprintf("%s prints more than %d bytes", command[0], maxTargetBytes), nil
	}
	targets, bad, err := targetsOf(where.Dir, out.String())
	switch {
	case err != nil:
		return nil, "", err
	case bad != "":
		return nil, fmt.Sprintf("%s prints %.80q, which is no path of the tree", command[0], bad), nil
	case len(targets) == 0:
		return nil, command[0] + " prints nothing", nil
	}
	return targets, "", nil
}

// targetsOf reads targets, one a line. Each is a path of the tree, or a label that begins with one: //path:name, path::name and
// path/... are too. bad is the first line that is none.
func targetsOf(dir, text string) (targets []string, bad string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	for line := range strings.Lines(text) {
		target := strings.TrimRight(line, "\r\n")
		if target == "" {
			continue
		}
		place, _, _ := strings.Cut(strings.TrimPrefix(target, "//"), ":")
		place = path.Clean(strings.TrimSuffix(place, "..."))
		if _, err := root.Lstat(place); err != nil || unprintable(target) || target[0] == '-' || !fs.ValidPath(place) {
			return nil, target, nil
		}
		targets = append(targets, target)
	}
	return targets, "", nil
}

// unprintable reports whether a text cannot be a line.
func unprintable(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl)
}
