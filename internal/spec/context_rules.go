package spec

import (
	"maps"
	"slices"
)

// ContextRules say how a role's requests are compiled. Zero values mean the defaults.
type ContextRules struct {
	// Last keeps the newest N turns of the agent's own history; 0 keeps all.
	Last int `json:"last,omitempty" yaml:"last,omitempty"`
	// DropTools are tools whose results leave the history as soon as one turn has seen them.
	DropTools []string `json:"drop_tools,omitempty" yaml:"drop_tools,omitempty"`
	// DropAfter drops tool results that are more than N turns old; 0 keeps them.
	DropAfter int `json:"drop_after,omitempty" yaml:"drop_after,omitempty"`
	// RecallTokens is the cap, in estimated tokens, on memory put into a request unasked: 0 means 500, -1 none.
	RecallTokens int `json:"recall_tokens,omitempty" yaml:"recall_tokens,omitempty"`
	// Compaction says when old turns become a snapshot.
	Compaction CompactionRules `json:"compaction,omitzero" yaml:"compaction,omitempty"`
}

// CompactionRules are shares of the window of the role's own model. Zero values mean the defaults.
type CompactionRules struct {
	// Start begins a compaction in the background (0.4), Swap puts it in at the next turn boundary (0.5), Hard waits for it
	// (0.85): beyond Hard no request is sent.
	Start float64 `json:"start,omitempty" yaml:"start,omitempty"`
	Swap  float64 `json:"swap,omitempty" yaml:"swap,omitempty"`
	Hard  float64 `json:"hard,omitempty" yaml:"hard,omitempty"`
	// Keep is the share of the history, newest first, that stays verbatim (0.3).
	Keep float64 `json:"keep,omitempty" yaml:"keep,omitempty"`
	// Overlap is how many turns of the range before are summarised again with the next one (1); -1 means none.
	Overlap int `json:"overlap,omitempty" yaml:"overlap,omitempty"`
	// Model is the alias or name of the model that writes snapshots; empty means the alias cheap.
	Model string `json:"model,omitempty" yaml:"model,omitempty"`
}

// The defaults of CompactionRules: start and swap as design.md's, keep as gemini-cli's preserved fraction.
const (
	DefaultCompactionStart = 0.4
	DefaultCompactionSwap  = 0.5
	DefaultCompactionHard  = 0.85
	DefaultCompactionKeep  = 0.3
	// DefaultRecallTokens caps memory put into a request unasked.
	DefaultRecallTokens = 500
	// ModelCheap is the alias of the model that summarises.
	ModelCheap = "cheap"
	// ModelStrong is the alias of the model that gives the second opinion on progress where an agent's own has given the first.
	ModelStrong = "strong"
)

// WithDefaults returns the rules with every zero filled in. Overlap and Recall lose their -1.
func (r ContextRules) WithDefaults() ContextRules {
	if r.RecallTokens == 0 {
		r.RecallTokens = DefaultRecallTokens
	}
	r.RecallTokens = max(0, r.RecallTokens)
	c := &r.Compaction
	for _, d := range []struct {
		share    *float64
		standard float64
	}{
		{&c.Start, DefaultCompactionStart},
		{&c.Swap, DefaultCompactionSwap},
		{&c.Hard, DefaultCompactionHard},
		{&c.Keep, DefaultCompactionKeep},
	} {
		if *d.share == 0 {
			*d.share = d.standard
		}
	}
	if c.Overlap == 0 {
		c.Overlap = 1
	}
	c.Overlap = max(0, c.Overlap)
	if c.Model == "" {
		c.Model = ModelCheap
	}
	return r
}

// The policies for large tool output.
const (
	// OutputKeep shows head, tail and handle.
	OutputKeep = "keep"
	// OutputSummarize shows a cheap model's summary and the handle.
	OutputSummarize = "summarize"
	// OutputRaw shows all of it, up to the hard limit.
	OutputRaw = "raw"
)

// The limits of tool output, in characters.
const (
	// MaxToolOutput is the hard limit, whatever the policy.
	MaxToolOutput = 40_000
	// MinToolOutput is the smallest limit that leaves room for head, tail and handle.
	MinToolOutput = 1_000
	// DefaultSummarizeLimit is the length from which a summary is worth a call.
	DefaultSummarizeLimit = 2_000
)

// ToolOutput says what becomes of a tool's large output.
type ToolOutput struct {
	// Policy is keep (default), summarize or raw.
	Policy string `json:"policy,omitempty" yaml:"policy,omitempty"`
	// Limit is the number of characters above which the policy applies: 0 means 2,000 for summarize, 40,000 for keep.
	Limit int `json:"limit,omitempty" yaml:"limit,omitempty"`
}

// WithDefaults returns the policy with every zero filled in and the limit inside its bounds; raw has the hard limit.
func (o ToolOutput) WithDefaults() ToolOutput {
	switch o.Policy {
	case "":
		o.Policy = OutputKeep
	case OutputRaw:
		o.Limit = MaxToolOutput
	}
	if o.Limit == 0 {
		o.Limit = MaxToolOutput
		if o.Policy == OutputSummarize {
			o.Limit = DefaultSummarizeLimit
		}
	}
	o.Limit = min(max(o.Limit, MinToolOutput), MaxToolOutput)
	return o
}

// AnyTool is the key of Role.ToolOutput for tools that are not named.
const AnyTool = "*"

func (r *Role) contextProblems(v *problems) {
	c := &r.Context
	v.atLeast("context.last", c.Last, 0)
	v.atLeast("context.drop_after", c.DropAfter, 0)
	v.atLeast("context.recall_tokens", c.RecallTokens, -1)
	v.atLeast("context.compaction.overlap", c.Compaction.Overlap, -1)
	shares := c.WithDefaults().Compaction
	for _, s := range []struct {
		name  string
		share float64
	}{{"start", shares.Start}, {"swap", shares.Swap}, {"hard", shares.Hard}, {"keep", shares.Keep}} {
		if s.share <= 0 || s.share >= 1 {
			v.addf("context.compaction."+s.name, "", "%v is no share of a window: want more than 0 and less than 1", s.share)
		}
	}
	if shares.Start > shares.Swap || shares.Swap > shares.Hard {
		v.addf("context.compaction", "", "start %v, swap %v and hard %v do not ascend", shares.Start, shares.Swap, shares.Hard)
	}
	if shares.Keep >= shares.Swap/shares.Hard {
		v.addf("context.compaction.keep", "", "keep %v leaves too little to compact", shares.Keep)
	}
	r.toolOutputProblems(v)
}

func (r *Role) toolOutputProblems(v *problems) {
	for _, name := range slices.Sorted(maps.Keys(r.ToolOutput)) {
		o, path := r.ToolOutput[name], "tool_output."+name
		switch {
		case name == ToolSubmitResult:
			v.addf(path, "", "the output of %s is never long", ToolSubmitResult)
		case name != AnyTool:
			v.known(path, "tool of the role", name, append(slices.Clone(r.Tools), AnyTool))
		}
		v.oneOf(path+".policy", "policy", o.Policy, OutputKeep, OutputSummarize, OutputRaw)
		switch {
		case o.Limit == 0:
		case o.Policy == OutputRaw:
			v.addf(path+".limit", "", "limit belongs to %s and %s: %s shows up to %d characters",
				OutputKeep, OutputSummarize, OutputRaw, MaxToolOutput)
		case o.Limit < MinToolOutput || o.Limit > MaxToolOutput:
			v.addf(path+".limit", "", "limit %d is not from %d to %d characters", o.Limit, MinToolOutput, MaxToolOutput)
		}
	}
}
