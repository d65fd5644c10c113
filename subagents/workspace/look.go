package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/internal/sandbox"
)

// maxLooked bounds, in bytes, what git may print of a work tree.
const maxLooked = 512 << 20

// Share declares that a program may write the work tree while its files are read, until the slot is released. Git inspects the
// directories above a file before it opens the file, and a link to anywhere may be put in their place in between: from now on git
// reads the tree confined, where such a link leads nowhere.
func (s *Slot) Share() { s.shared.Store(true) }

// look runs a git that reads the files of the work tree.
func (s *Slot) look(ctx context.Context, in string, args ...string) ([]byte, error) {
	return s.lookAt(ctx, s.at(), in, args...)
}

func (s *Slot) lookAt(ctx context.Context, at git.Dir, in string, args ...string) ([]byte, error) {
	if !s.shared.Load() && !s.converts.All { // or git converts what an attempt wrote, to what its attributes name
		return s.git.Run(ctx, at, strings.NewReader(in), args...)
	}
	return s.confined(ctx, at, in, args...)
}

// confined runs a git that sees the work tree and its own directory alone, and can write the second one.
func (s *Slot) confined(ctx context.Context, at git.Dir, in string, args ...string) ([]byte, error) {
	at.WorkTree = sandbox.TreePath(s.dir)
	line, env, err := s.git.Command(at, args...)
	if err != nil {
		return nil, err
	}
	var printed bytes.Buffer
	command := sandbox.Command{
		Args: line, Env: env, Dir: s.dir, Place: sandbox.Place{Tree: s.dir, KeepTree: true}, Stdin: []byte(in),
		Writable: []string{s.gitDir}, Readable: []string{s.mirror.Objects()}, Sink: &printed,
		MaxSink: maxLooked, DropErrors: true,
	}
	out, err := sandbox.Run(ctx, command)
	switch {
	case err != nil:
		return nil, fmt.Errorf("run git %s confined: %w", args[0], err)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	case out.SinkOmitted > 0:
		return nil, fmt.Errorf("output of git %s: %w", args[0], git.ErrTooLarge)
	case !out.Success():
		exit := &git.ExitError{Args: args, Code: out.ExitCode}
		command.Sink, command.DropErrors = nil, false // once more, for its message
		if again, err := sandbox.Run(ctx, command); err == nil {
			exit.Stderr = again.Text()
		}
		return nil, exit
	}
	return printed.Bytes(), nil
}
