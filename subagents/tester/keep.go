package tester

import (
	"context"
	"fmt"
	"os"

	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/subagents/finding"
	"divisi/subagents/gate"
)

// keepAll keeps what a gate has printed, and all that it found where it ran in full.
func (t *Executor) keepAll(ctx context.Context, r *spec.Receipt, whole *transcript, list finding.List) (err error) {
	if r.Since == "" {
		if r.Findings, err = finding.Store(ctx, t.Objects.Put, list); err != nil {
			return fmt.Errorf("keep the findings of gate %s: %w", r.Gate, err)
		}
	}
	if r.Output, err = t.keep(ctx, whole, r.Verdict != spec.VerdictPass); err != nil {
		return fmt.Errorf("keep the output of gate %s: %w", r.Gate, err)
	}
	return nil
}

// keep stores a whole output as an object, and what failed as a file too; it returns the object's name, "" for no output.
func (t *Executor) keep(ctx context.Context, whole *transcript, failed bool) (string, error) {
	if len(whole.kept) == 0 {
		return "", nil
	}
	name := "output-" + artifact.Digest(whole.kept)
	if err := t.Objects.Put(ctx, name, whole.kept); err != nil {
		return "", fmt.Errorf("store %s: %w", name, err)
	}
	if file := gate.OutputFile(t.Outputs, name); failed && file != "" {
		if err := os.WriteFile(file, whole.kept, 0o600); err != nil {
			return "", fmt.Errorf("write an output to a file: %w", err)
		}
	}
	return name, nil
}
