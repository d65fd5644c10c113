package inspect

import (
	"context"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// explain shows what a model saw at one turn, or what changed between two.
func (g *Globals) explain(ctx context.Context, name, diff string, v orchestrator.ContextView) (err error) {
	if v.Turn < 0 {
		return usage.Errorf("--turn counts from 1")
	}
	if diff != "" {
		if v.From, v.To, err = splitTurns(diff); err != nil {
			return err
		}
	}
	v.Text = !g.JSON() || v.Raw
	var shown []byte
	if err = g.onAttempt(ctx, name, func(r *orchestrator.Run, task string, number int) (err error) {
		shown, err = r.Context(ctx, task, number, v)
		return err
	}); err == nil {
		if !v.Text {
			shown = text.JSON(shown)
		}
		_, err = g.Out.Write(shown)
	}
	return err
}

// SplitTask reads RUN/TASK or RUN/TASK/ATTEMPT.
func SplitTask(name string) (run, task string, attempt int, err error) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[1] == "" {
		return "", "", 0, usage.Errorf("%q must be RUN/TASK or RUN/TASK/ATTEMPT", name)
	}
	if len(parts) == 3 {
		if attempt, err = strconv.Atoi(parts[2]); err != nil || attempt < 1 {
			return "", "", 0, usage.Errorf("%q: the attempt counts from 1", name)
		}
	}
	return parts[0], parts[1], attempt, nil
}

// splitTurns reads N..M.
func splitTurns(turns string) (from, to int, err error) {
	a, b, ok := strings.Cut(turns, "..")
	from, errA := strconv.Atoi(a)
	to, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil || from < 1 || to < 1 {
		return 0, 0, usage.Errorf("invalid --diff %q: must be two turns, such as 3..4", turns)
	}
	return from, to, nil
}
