// Package modeltest has a model in memory for the unit tests of packages that call a model: it answers from the scripts of
// geminitest. It also has the suite that every implementation of model.Model passes.
package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
)

// Scripted is a model in memory: no network, no SDK, the same script and the same strictness as the fake server. It
// works inside a testing/synctest bubble. It is safe for concurrent use.
type Scripted struct {
	api *geminitest.Server
}

// New makes a scripted model. Of opt, Script, Handle, KeepBodies and Delay are used.
func New(opt geminitest.Options) *Scripted { return &Scripted{api: geminitest.New(opt)} }

// FromYAML makes a scripted model from the text of a script.
func FromYAML(script string) (*Scripted, error) {
	s, err := geminitest.Parse([]byte(script))
	if err != nil {
		return nil, fmt.Errorf("scripted model: %w", err)
	}
	return New(geminitest.Options{Script: s}), nil
}

// Requests is the log so far, in order of arrival.
func (s *Scripted) Requests() []geminitest.Entry { return s.api.Requests() }

// Violations are the breaches of the API's rules so far; a test should end with none.
func (s *Scripted) Violations() []geminitest.Violation { return s.api.Violations() }

// Generate implements model.Model.
func (s *Scripted) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := model.Validate(req); err != nil {
			yield(model.Event{}, err)
			return
		}
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, model.AsError(err))
			return
		}
		raw, err := body(req)
		if err != nil {
			yield(model.Event{}, &model.Error{Class: model.Invalid, Message: err.Error()})
			return
		}
		p := playing{yield: yield, name: req.Model, reply: s.api.Ask(header(req.Meta), req.Model, "streamGenerateContent", raw)}
		p.run(ctx, req)
	}
}

// header carries what the fake server reads from headers.
func header(m model.Meta) http.Header {
	h := http.Header{}
	h.Set("X-Goog-Api-Key", "scripted")
	h.Set("X-Divisi-Run", m.Run)
	h.Set("X-Divisi-Task", m.Task)
	h.Set("X-Divisi-Purpose", m.Purpose)
	h.Set("X-Divisi-Attempt", strconv.Itoa(m.Attempt))
	h.Set("X-Divisi-Turn", strconv.Itoa(m.Turn))
	return h
}

// body writes what of a request the scripts and the checks inspect, as the API has it.
func body(req *model.Request) ([]byte, error) {
	b := map[string]any{"contents": req.Contents}
	if c := req.Config; c != nil {
		b["systemInstruction"], b["tools"], b["toolConfig"] = c.SystemInstruction, c.Tools, c.ToolConfig
		if len(c.ContinuationToken) > 0 {
			b["continuationToken"] = c.ContinuationToken
		}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	return raw, nil
}

// playing is one reply being given.
type playing struct {
	yield  func(model.Event, error) bool
	name   string
	reply  geminitest.Reply
	answer model.Answer
	began  bool
}

func (p *playing) run(ctx context.Context, req *model.Request) {
	res, stopped, err := p.play(ctx)
	switch {
	case stopped:
	case err != nil:
		fault := model.AsError(err)
		if p.began && fault.Usage.Calls == 0 {
			fault.Usage = spec.Usage{Calls: 1, Prompt: model.Estimate(req)}
		}
		p.yield(model.Event{}, fault)
	default:
		p.yield(model.Event{Result: res}, nil)
	}
}

func (p *playing) play(ctx context.Context) (res *model.Result, stopped bool, err error) {
	if err := wait(ctx, p.reply.First); err != nil {
		return nil, false, err
	}
	if p.reply.Status != http.StatusOK {
		return nil, false, model.FromStatus(p.reply.Status, nil, p.reply.Body)
	}
	for i, raw := range p.reply.Chunks {
		if i > 0 {
			if err := wait(ctx, p.reply.Between); err != nil {
				return nil, false, err
			}
		}
		chunk, err := decode(raw)
		if err != nil {
			return nil, false, err
		}
		p.began = true
		for _, part := range p.answer.Observe(chunk) {
			if !p.yield(model.Event{Delta: part}, nil) {
				return nil, true, nil
			}
		}
	}
	if p.reply.End == geminitest.EndHang {
		<-ctx.Done()
		return nil, false, ctx.Err()
	}
	res, fault := p.answer.Result(p.name)
	if fault != nil {
		return nil, false, fault
	}
	return res, false, nil
}

// decode reads a chunk; an error event becomes the error that it stands for.
func decode(raw []byte) (*genai.GenerateContentResponse, error) {
	var fault struct {
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	var chunk genai.GenerateContentResponse
	if err := json.Unmarshal(raw, &fault); err != nil {
		return nil, &model.Error{Class: model.Truncated, Message: "the stream could not be read: " + err.Error()}
	}
	if fault.Error != nil {
		return nil, model.FromStatus(fault.Error.Code, nil, raw)
	}
	if err := json.Unmarshal(raw, &chunk); err != nil {
		return nil, &model.Error{Class: model.Truncated, Message: "the stream could not be read: " + err.Error()}
	}
	return &chunk, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
