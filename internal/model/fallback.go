package model

import (
	"context"
	"iter"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// Choice is a model that may stand in for a request's own, with what is different for it.
type Choice struct {
	Model string `json:"model"`
	// Thinking is its level; empty means the request's. Either is brought to the nearest that the model takes.
	Thinking string `json:"thinking,omitempty"`
	// MaxOutput bounds its answer in tokens; 0 means the request's bound. Never more is asked for than is known of the model.
	MaxOutput int `json:"max_output,omitempty"`
	// Tier is its service tier; empty leaves it to the service.
	Tier string `json:"tier,omitempty"`
	// Window is how many tokens a request to it may have; 0 means what is known of it. A larger request passes it over.
	Window int `json:"window,omitempty"`
}

// String is the model, with its tier where one is named.
func (c Choice) String() string {
	if c.Tier == "" {
		return c.Model
	}
	return c.Model + " (" + c.Tier + ")"
}

// choice is the request's own model in its tier.
func (req *Request) choice() Choice {
	c := Choice{Model: req.Model}
	if req.Config != nil {
		c.Tier = string(req.Config.ServiceTier)
	}
	return c
}

// chained has a request answered by the next model of its chain while its own cannot. It stands above the continuation, whose
// tokens are of one model, and above the budget, so that every model's call is reserved on its own.
type chained struct {
	next   Model
	health *health
}

// Generate implements Model.
func (m chained) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	ladder := ladder(req)
	if len(ladder) < 2 {
		return m.next.Generate(ctx, req)
	}
	return func(yield func(Event, error) bool) {
		c := &climb{chained: m, req: req, yield: yield, own: ladder[0]}
		res, err := c.run(ctx, ladder)
		switch {
		case err != nil:
			err.Usage = c.wasted
			yield(Event{}, err)
		case res != nil:
			res.Wasted = res.Wasted.Add(c.wasted)
			yield(Event{Result: res}, nil)
		}
	}
}

// ladder lists who may answer a request, its own model first.
func ladder(req *Request) []Choice {
	if req == nil {
		return nil
	}
	return append([]Choice{req.choice()}, req.Fallback...)
}

// climb is one call and the models that were asked for it.
type climb struct {
	chained
	req   *Request
	yield func(Event, error) bool

	tokens int // the request's size, once somebody asked for it
	wasted spec.Usage
	shown  bool // a model that was given up had shown deltas
	// own is the request's model; from the choice that was passed over last, why its failure, and first that of the first model
	// that failed, or of the own one, which may rest and be asked last.
	own   Choice
	from  Choice
	why   *Error
	first *Error
}

// run asks the models in their order, those that rest last: before a call is given up, everybody was asked.
func (c *climb) run(ctx context.Context, ladder []Choice) (*Result, *Error) {
	var resting []Choice
	for i, choice := range ladder {
		if i > 0 && !c.fits(choice) {
			continue
		}
		open, probe := c.health.enter(choice)
		if !open {
			c.from, c.why = choice, nil
			resting = append(resting, choice)
			continue
		}
		if res, err, done := c.try(ctx, choice, probe); done {
			return res, err
		}
	}
	for _, choice := range resting {
		if res, err, done := c.ask(ctx, choice, c.first != nil); done {
			return res, err
		}
	}
	return nil, c.first
}

// try has one model answer that may be asked. A probe is one send, whatever comes of it.
func (c *climb) try(ctx context.Context, choice Choice, probe bool) (res *Result, err *Error, done bool) {
	if probe {
		defer c.health.leave(choice)
	}
	return c.ask(ctx, choice, probe)
}

// ask has one model answer. done is false when the next one is to be asked.
func (c *climb) ask(ctx context.Context, choice Choice, once bool) (res *Result, err *Error, done bool) {
	if choice != c.own && c.why != nil { // that it rests was told before
		tell(ctx, spec.Wait{For: spec.WaitFallback, Model: c.from.String(), Instead: choice.String(), Why: c.why.Error()})
	}
	res, err = c.collect(ctx, choice, once)
	switch {
	case err != nil:
		return nil, err, c.failed(choice, err)
	case res != nil && c.health.well(choice):
		tell(ctx, spec.Wait{For: spec.WaitOver, Model: choice.String()})
	}
	return c.adopt(res, choice), nil, true
}

// failed takes a model's failure in and says whether the call fails with it.
func (c *climb) failed(choice Choice, err *Error) bool {
	c.wasted = c.wasted.Add(err.Usage)
	if err.sheds() {
		c.health.fail(choice, err.RetryAfter)
	} else if choice.Model == c.req.Model || !err.unfit() {
		return true
	}
	c.from, c.why = choice, err
	if c.first == nil || choice == c.own {
		c.first = err
	}
	return false
}

// collect sends once, and says of the first delta after a model that was given up that what that one showed is void.
func (c *climb) collect(ctx context.Context, choice Choice, once bool) (*Result, *Error) {
	return anew(c.next.Generate(ctx, c.request(choice, once)), &c.shown, c.yield)
}

// adopt makes an answer one of the request's own conversation: another model's signatures would be refused there.
func (c *climb) adopt(res *Result, choice Choice) *Result {
	if res == nil || choice.Model == c.req.Model {
		return res
	}
	out := *res
	out.StandIn = choice.Model
	if stripped := StripSignatures([]*genai.Content{res.Content}); len(stripped) == 1 {
		out.Content = stripped[0]
	}
	return &out
}

// fits says whether the request is small enough for a model.
func (c *climb) fits(choice Choice) bool {
	if choice.Model == c.req.Model {
		return true
	}
	if c.tokens == 0 {
		c.tokens = Estimate(c.req)
	}
	window := choice.Window
	if window == 0 {
		window = Lookup(choice.Model).usable()
	}
	return c.tokens <= window
}

// request is the request for a choice.
func (c *climb) request(choice Choice, once bool) *Request {
	out := *c.req
	if once {
		out.tries = 1
	}
	var config genai.GenerateContentConfig
	if c.req.Config != nil {
		config = *c.req.Config
	}
	config.ServiceTier = genai.ServiceTier(choice.Tier)
	out.Config, out.Fallback = &config, nil
	if choice.Model == c.req.Model {
		return &out
	}
	out.Model = choice.Model
	out.Contents = StripSignatures(c.req.Contents)
	info := Lookup(choice.Model)
	config.ThinkingConfig = choice.thinking(config.ThinkingConfig, info)
	if choice.MaxOutput > 0 {
		config.MaxOutputTokens = int32(choice.MaxOutput)
	}
	if info.Known {
		config.MaxOutputTokens = min(config.MaxOutputTokens, int32(info.MaxOutput))
	}
	return &out
}

// thinking is how the model thinks for a request that was meant for another.
func (c Choice) thinking(asked *genai.ThinkingConfig, info Info) *genai.ThinkingConfig {
	var out genai.ThinkingConfig
	if asked != nil {
		out.IncludeThoughts, out.ThinkingLevel = asked.IncludeThoughts, asked.ThinkingLevel
	}
	if c.Thinking != "" {
		out.ThinkingLevel = genai.ThinkingLevel(strings.ToUpper(c.Thinking))
	}
	// A level that nobody named for it may be unknown to it.
	if level := string(out.ThinkingLevel); level != "" && (c.Thinking == "" || !info.Thinks(level)) {
		out.ThinkingLevel = genai.ThinkingLevel(info.nearest(level))
	}
	if out == (genai.ThinkingConfig{}) {
		return nil
	}
	return &out
}

// sheds says that this model cannot answer at present and another may: it is overloaded or silent, its server fails, or a
// quota of its own is used up. What the network or a quota of the whole project refuses, it refuses to all.
func (e *Error) sheds() bool {
	switch e.Class {
	case Overloaded, Stalled:
		return true
	case Unavailable:
		return e.Status >= 500
	case RateLimited:
		return !e.project
	default:
		return false
	}
}

// unfit says of a stand-in's failure that it tells something of the stand-in and nothing of the turn: the next one is asked,
// and in the end the own model's failure counts.
func (e *Error) unfit() bool {
	switch e.Class {
	case Unavailable, RateLimited, Invalid, Auth, TooLong:
		return true
	default:
		return false
	}
}
