package spec

import (
	"cmp"
	"maps"
	"slices"
)

// ContextRules report how a role's requests are compiled. Zero values mean the defaults.
type ContextRules struct {
	Last         int      `json:"last,omitempty" jsonschema:"Only the newest N turns of its own history; 0 for all."`
	DropTools    []string `json:"drop_tools,omitempty" jsonschema:"Tools whose results become handles as soon as one turn has seen them."`
	DropAfter    int      `json:"drop_after,omitempty" jsonschema:"Results become handles when more than N turns came after them; 0 for never."`
	RecallTokens int      `json:"recall_tokens,omitempty" minimum:"-1" jsonschema:"How much of the memory is put into a request unasked; default 500, -1 for none."`
	CompactAfter int      `json:"compact_after,omitempty" minimum:"-1" jsonschema:"Old turns become a snapshot after N turns too, whatever their size; default 40, -1 for never."`

	Compaction CompactionRules `json:"compaction,omitzero" jsonschema:"When old turns become a snapshot, in shares of the model's window."`
}

// CompactionRules are shares of the window of the role's own model. Zero values mean the defaults. Beyond Hard no request is
// sent.
type CompactionRules struct {
	Start   float64 `json:"start,omitempty" jsonschema:"Begins in the background; default 0.4."`
	Swap    float64 `json:"swap,omitempty" jsonschema:"Takes its place at the next turn; default 0.5."`
	Hard    float64 `json:"hard,omitempty" jsonschema:"Is waited for; default 0.85."`
	Keep    float64 `json:"keep,omitempty" jsonschema:"Share of the history, newest first, that stays as it is; default 0.3."`
	Overlap int     `json:"overlap,omitempty" minimum:"-1" jsonschema:"Turns of the range before that are summarised again; default 1, -1 for none."`
	Model   string  `json:"model,omitempty" jsonschema:"Model that writes snapshots; default the alias cheap."`
}

// The defaults of CompactionRules: start and swap as design.md's, keep as gemini-cli's preserved fraction.
const (
	DefaultCompactionStart = 0.4
	DefaultCompactionSwap  = 0.5
	DefaultCompactionHard  = 0.85
	DefaultCompactionKeep  = 0.3
	// DefaultCompactAfter is most of the 50 turns that an attempt has by default: usual sessions keep their cached prefix.
	DefaultCompactAfter = 40
	// DefaultRecallTokens caps memory put into a request unasked.
	DefaultRecallTokens = 500
	// ModelCheap is the alias of the model that summarises.
	ModelCheap = "cheap"
	// ModelStrong is the alias of the model that gives the second opinion on progress where an agent's own has given the first.
	ModelStrong = "strong"
)

// WithDefaults returns the rules with every zero filled in. Overlap, Recall and CompactAfter lose their -1.
func (r ContextRules) WithDefaults() ContextRules {
	r.RecallTokens = max(0, cmp.Or(r.RecallTokens, DefaultRecallTokens))
	r.CompactAfter = max(0, cmp.Or(r.CompactAfter, DefaultCompactAfter))
	c := &r.Compaction
	c.Start, c.Swap = cmp.Or(c.Start, DefaultCompactionStart), cmp.Or(c.Swap, DefaultCompactionSwap)
	c.Hard, c.Keep = cmp.Or(c.Hard, DefaultCompactionHard), cmp.Or(c.Keep, DefaultCompactionKeep)
	c.Overlap, c.Model = max(0, cmp.Or(c.Overlap, 1)), cmp.Or(c.Model, ModelCheap)
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

// ToolOutput reports what becomes of a tool's large output.
type ToolOutput struct {
	Policy string `json:"policy,omitempty" enum:"keep,summarize,raw" jsonschema:"keep (default): head, tail and a handle. summarize: a summary and the handle. raw: all of it."`
	Limit  int    `json:"limit,omitempty" jsonschema:"Characters above which the policy applies, 1,000 to 40,000."`
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

// Summaries report how long tool output is summarised. Zero values mean the defaults.
type Summaries struct {
	Model  string `json:"model,omitempty" jsonschema:"Model that summarises; default the alias cheap."`
	Tokens int    `json:"tokens,omitempty" jsonschema:"Longest summary, in tokens, 100 to 3,000; default 2,000."`
	Prompt string `json:"prompt,omitempty" jsonschema:"Its instruction; default built in. Errors and warnings are shown whole beside every summary."`
}

// The bounds of Summaries.
const (
	DefaultSummaryTokens = 2_000
	minSummaryTokens     = 100
	maxSummaryTokens     = 3_000
	maxSummaryPrompt     = 8 << 10
)

// WithDefaults returns the settings with every zero filled in but the prompt.
func (s Summaries) WithDefaults() Summaries {
	s.Model, s.Tokens = cmp.Or(s.Model, ModelCheap), cmp.Or(s.Tokens, DefaultSummaryTokens)
	return s
}

func (s Summaries) problems(v *problems) {
	if s.Tokens != 0 && (s.Tokens < minSummaryTokens || s.Tokens > maxSummaryTokens) {
		v.addf("summaries.tokens", "", "%d is not from %d to %d tokens", s.Tokens, minSummaryTokens, maxSummaryTokens)
	}
	if len(s.Prompt) > maxSummaryPrompt {
		v.addf("summaries.prompt", "", "the prompt has %d bytes, more than %d", len(s.Prompt), maxSummaryPrompt)
	}
}

// Outputs are the policies for the output of a role's tools: its own, and the project's for tools that it does not name, where
// the role can load what is not shown.
func (p *Project) Outputs(r *Role) map[string]ToolOutput {
	_, all := r.ToolOutput[AnyTool]
	out := maps.Clone(p.ToolOutput)
	if all || out == nil || !slices.Contains(r.Tools, ToolLoadArtifact) {
		return r.ToolOutput
	}
	maps.Copy(out, r.ToolOutput)
	return out
}

// AnyTool is the key of Role.ToolOutput for tools that are not named.
const AnyTool = "*"

func (r *Role) contextProblems(v *problems) {
	c := &r.Context
	shares := c.WithDefaults().Compaction
	for _, s := range []struct {
		name  string
		share float64
	}{{"start", shares.Start}, {"swap", shares.Swap}, {"hard", shares.Hard}, {"keep", shares.Keep}} {
		if s.share <= 0 || s.share >= 1 {
			v.addf("context.compaction."+s.name, "", "%v is no share of a window: it must be above 0 and below 1", s.share)
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
		path := "tool_output." + name
		switch {
		case name == ToolSubmitResult:
			v.addf(path, "", "the output of %s is never long", ToolSubmitResult)
		case name != AnyTool:
			v.known(path, "tool of the role", name, append(slices.Clone(r.Tools), AnyTool))
		}
	}
	outputProblems(v, r.ToolOutput)
}

// outputProblems faults limits that a policy cannot have.
func outputProblems(v *problems, outputs map[string]ToolOutput) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o, path := outputs[name], "tool_output."+name
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
