package model

import (
	"strings"

	"google.golang.org/genai"
)

// Candidate is a model that may answer a request, with what is different for it.
type Candidate struct {
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
func (c Candidate) String() string {
	if c.Tier == "" {
		return c.Model
	}
	return c.Model + " (" + c.Tier + ")"
}

// own is the request's own model in its tier.
func (req *Request) own() Candidate {
	c := Candidate{Model: req.Model}
	if req.Config != nil {
		c.Tier = string(req.Config.ServiceTier)
	}
	return c
}

// For is the request as a candidate is sent it. Thought signatures are only known to the request's own model.
func (req *Request) For(c Candidate) *Request {
	out := *req
	var config genai.GenerateContentConfig
	if req.Config != nil {
		config = *req.Config
	}
	config.ServiceTier = genai.ServiceTier(c.Tier)
	out.Config, out.Fallback = &config, nil
	if c.Model == req.Model {
		return &out
	}
	out.Model, out.Contents = c.Model, StripSignatures(req.Contents)
	info := Lookup(c.Model)
	config.ThinkingConfig = c.thinking(config.ThinkingConfig, info)
	if c.MaxOutput > 0 {
		config.MaxOutputTokens = int32(c.MaxOutput)
	}
	if info.Known {
		config.MaxOutputTokens = min(config.MaxOutputTokens, int32(info.MaxOutput))
	}
	return &out
}

// thinking is how the model thinks for a request that was meant for another.
func (c Candidate) thinking(asked *genai.ThinkingConfig, info Info) *genai.ThinkingConfig {
	var out genai.ThinkingConfig
	if asked != nil {
		out.IncludeThoughts, out.ThinkingLevel = asked.IncludeThoughts, asked.ThinkingLevel
	}
	if c.Thinking != "" {
		out.ThinkingLevel = genai.ThinkingLevel(strings.ToUpper(c.Thinking))
	}
	// A level that was not named for it may be unknown to it.
	if level := string(out.ThinkingLevel); level != "" && (c.Thinking == "" || !info.Thinks(level)) {
		out.ThinkingLevel = genai.ThinkingLevel(info.nearest(level))
	}
	if out == (genai.ThinkingConfig{}) {
		return nil
	}
	return &out
}

// sheds reports whether this model cannot answer at present and another may: it is overloaded or silent, its server fails, or a
// quota of its own is used up. What the network or a quota of the whole project refuses, it refuses to all.
func (e *Error) sheds() bool {
	switch e.Class {
	case Overloaded, Stalled:
		return true
	case Unavailable:
		return e.Status >= 500 // the server answered, and failed
	case RateLimited:
		return !e.project
	default:
		return false
	}
}

// unfit reports whether a fallback's failure concerns the fallback and not the turn: then the next one is asked, and in the end
// the own model's failure counts.
func (e *Error) unfit() bool {
	switch e.Class {
	case Unavailable, RateLimited, Invalid, Auth, TooLong:
		return true
	default:
		return false
	}
}
