package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"google.golang.org/genai"
)

const (
	// purpose marks the calls of a compaction in counts.
	purpose = "compaction"
	// defaultTime is how long one compaction may take, its repair included.
	defaultTime = 2 * time.Minute
	// defaultOutput bounds an answer, thoughts included, in tokens: four times the longest snapshot that is wanted.
	defaultOutput = 16 << 10
	// promptShare is the share, in percent, of the model's window that prompt and answer are planned to fill: sizes are
	// estimates. The answer has at most one part in outputShare of the window, so that the history has some of it.
	promptShare = 75
	outputShare = 4
)

// Config reports which model writes snapshots. Model and ModelName are needed.
type Config struct {
	Model     model.Model
	ModelName string
	// Window is the model's window in tokens; 0 means what is known of it.
	Window int
	// Fallback is in while the model is overloaded.
	Fallback []model.Candidate
	// MaxOutput bounds one answer in tokens; 0 means the default.
	MaxOutput int
	// Time bounds one compaction; 0 means the default. Bound makes it a context's limit, with a cause; nil means by the clock.
	Time  time.Duration
	Bound func(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc)
	Log   zerolog.Logger
}

// Compactor has snapshots written. It is safe for concurrent use.
type Compactor struct{ cfg Config }

// New makes a compactor.
func New(cfg Config) *Compactor {
	info := model.Lookup(cfg.ModelName)
	cfg.Window = cmp.Or(cfg.Window, info.Window)
	cfg.MaxOutput = min(cmp.Or(cfg.MaxOutput, defaultOutput), cmp.Or(info.MaxOutput, defaultOutput), cfg.Window/outputShare)
	cfg.Time = cmp.Or(cfg.Time, defaultTime)
	if cfg.Bound == nil {
		cfg.Bound = context.WithTimeoutCause
	}
	return &Compactor{cfg}
}

// Snapshot has a job done: it asks the model, checks what comes back, and asks once more where that is refused. What fails is
// recorded too, as a failed compaction; usage is what it cost in any case. meta.Turn numbers the first request; a repair has
// the next number. The error is the cause of ctx, when it ended from outside: then there is nothing to record.
func (c *Compactor) Snapshot(
	ctx context.Context, job compaction.Job, meta model.Meta,
) (rec contextscope.Compaction, usage spec.Usage, err error) {
	meta.Purpose = purpose
	job.Limit = max(1, c.cfg.Window*promptShare/100-c.cfg.MaxOutput)
	w := writing{Compactor: c, job: job, meta: meta}
	timed, cancel := c.cfg.Bound(ctx, c.cfg.Time, errTime)
	defer cancel()
	rec, fault := w.run(timed)
	if fault == nil {
		c.cfg.Log.Info().Int("from", rec.From).Int("to", rec.To).Int("before", rec.Before).Int("after", rec.After).
			Msg("history compacted")
		return rec, w.usage, nil
	}
	if ctx.Err() != nil {
		return contextscope.Compaction{}, w.usage, context.Cause(ctx)
	}
	if errors.Is(context.Cause(timed), errTime) {
		fault = &spec.Fault{Class: wire.FaultTime, Message: fmt.Sprintf("no snapshot after %s", c.cfg.Time)}
	}
	c.cfg.Log.Warn().Str("class", fault.Class).Str("fault", fault.Message).Msg("compaction failed")
	rec = job.Failed(*fault)
	rec.Model = c.cfg.ModelName
	return rec, w.usage, nil
}

var errTime = errors.New("the compaction's time is over")

// writing is one job under way.
type writing struct {
	*Compactor

	job   compaction.Job
	meta  model.Meta
	usage spec.Usage
}

func (w *writing) run(ctx context.Context) (contextscope.Compaction, *spec.Fault) {
	answer, fault := w.ask(ctx, w.job.Prompt)
	if fault != nil {
		return contextscope.Compaction{}, fault
	}
	snapshot, faults := w.judge(answer)
	repaired := len(faults) > 0
	if repaired {
		w.cfg.Log.Info().Strs("faults", faults).Msg("snapshot refused, asked for again")
		w.meta.Turn++
		repair := func() (string, []*genai.Content) { return w.job.Repair(answer, faults) }
		if answer, fault = w.ask(ctx, repair); fault != nil {
			return contextscope.Compaction{}, fault
		}
		if snapshot, faults = w.judge(answer); len(faults) > 0 {
			return contextscope.Compaction{}, &spec.Fault{
				Class: wire.FaultSnapshot, Message: "the snapshot was refused twice", Detail: strings.Join(faults, "\n"),
			}
		}
	}
	rec := w.job.Done(snapshot)
	rec.Repaired, rec.Model = repaired, w.cfg.ModelName
	return rec, nil
}

// judge reads an answer and reports what is wrong with it.
func (w *writing) judge(answer string) (compaction.Snapshot, []string) {
	snapshot, err := compaction.ParseSnapshot(answer)
	if err != nil {
		return snapshot, []string{err.Error()}
	}
	return snapshot, w.job.Check(snapshot)
}

// ask returns the text of one answer.
func (w *writing) ask(ctx context.Context, prompt func() (string, []*genai.Content)) (string, *spec.Fault) {
	system, contents := prompt()
	req := &model.Request{
		Model: w.cfg.ModelName, Contents: contents, Fallback: w.cfg.Fallback, Meta: w.meta,
		Config: &genai.GenerateContentConfig{
			SystemInstruction: genai.NewContentFromText(system, genai.RoleUser), MaxOutputTokens: int32(w.cfg.MaxOutput),
		},
	}
	r, failed := model.Ask(ctx, w.cfg.Model, req)
	if failed != nil {
		w.usage = w.usage.Add(failed.Usage)
		return "", &spec.Fault{Class: wire.FaultModel + string(failed.Class), Message: failed.Message}
	}
	w.usage = w.usage.Add(r.Usage).Add(r.Wasted)
	if answer := content.Text(r.Content); strings.TrimSpace(answer) != "" {
		return answer, nil
	}
	return "(no text)", nil // of calls alone, which no snapshot is
}
