package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// Artifacts keeps what is too large for a prompt.
type Artifacts interface {
	// Put stores data under a name and returns the handle by which load_artifact can read it again. It may be called from
	// several goroutines; the same name may come again with other data.
	Put(ctx context.Context, name string, data []byte) (handle string, err error)
}

// ArtifactReader reads artifacts again.
type ArtifactReader interface {
	// Get returns what is behind a handle that the agent may read. Its errors wrap artifact.ErrHandle for a text that is no
	// handle, artifact.ErrNotFound for one that leads nowhere, and artifact.ErrCorrupt for content that is damaged.
	Get(ctx context.Context, handle string) ([]byte, error)
}

// maxShown is how many characters of head and tail remain of an output that is cut.
const maxShown = 20_000

// Guard bounds what tools return, each by its policy. A larger output goes to an artifact, and the model sees its head, its
// tail and the handle, or a summary.
type Guard struct {
	// Artifacts may be nil: then only head and tail remain.
	Artifacts Artifacts
	// Policies are a role's, by tool; spec.AnyTool serves those that are not named.
	Policies map[string]spec.ToolOutput
	// Summarizer may be nil: then head and tail remain of what a policy would have summarised.
	Summarizer Summarizer
	// Sought tells a summary what matters; may be nil. It is called while tools run.
	Sought func() Sought
}

// Bound returns the result with every output made valid UTF-8, none above 40,000 characters, and no word in it that only the
// guard may say.
func (g *Guard) Bound(ctx context.Context, call Call, r Result) Result {
	policy, named := g.Policies[call.Name]
	if !named {
		policy = g.Policies[spec.AnyTool]
	}
	b := &bounding{guard: g, call: call, policy: policy.WithDefaults(), result: r, notes: map[string]string{}}
	out := make(map[string]any, len(r.Output))
	for _, key := range slices.Sorted(maps.Keys(r.Output)) {
		out[key] = b.value(ctx, key, r.Output[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.notes)) {
		name := key + "_note"
		for out[name] != nil {
			name += "_"
		}
		out[name] = b.notes[key]
	}
	b.result.Output = b.together(ctx, out)
	if r.Load != nil {
		load := *r.Load
		load.Text = elide(load.Text)
		b.result.Load = &load
	}
	return b.result
}

// bounding is one result on its way through the guard.
type bounding struct {
	guard  *Guard
	call   Call
	policy spec.ToolOutput
	result Result
	// notes say, by key, why an output is not what the policy asks for.
	notes map[string]string
}

func (b *bounding) value(ctx context.Context, key string, value any) any {
	whole, isText := value.(string)
	if !isText {
		raw, err := spec.JSON(value)
		if err != nil {
			return "this value cannot be written as JSON: " + elide(strings.ToValidUTF8(text.Short(err.Error(), 200), "\uFFFD"))
		}
		encoded := string(raw)
		if utf8.RuneCountInString(encoded) <= b.limit(false) {
			return elideValue(value, encoded)
		}
		whole = encoded
	}
	whole = strings.ToValidUTF8(whole, "\uFFFD")
	shown := elide(whole)
	size := utf8.RuneCountInString(shown)
	if size <= b.limit(isText) {
		return shown
	}
	handle, where := b.keep(ctx, key, whole)
	if b.summarizes(isText) {
		summary, why := b.summary(ctx, whole, handle, where)
		if why == "" {
			return summary
		}
		b.notes[key] = "There is no summary: " + why + "."
	}
	return b.cut(shown, b.limit(false), where)
}

// summarizes says whether an output is to be summarised: a value that is no text is not, nor is what says why a call failed.
func (b *bounding) summarizes(isText bool) bool {
	return isText && !b.result.Err && b.policy.Policy == spec.OutputSummarize
}

func (b *bounding) limit(isText bool) int {
	if b.policy.Policy == spec.OutputSummarize && !b.summarizes(isText) {
		return spec.MaxToolOutput
	}
	return b.policy.Limit
}

func (b *bounding) cut(text string, most int, where string) string {
	return cut(text, most, min(most/2, maxShown), where)
}

// together bounds the sum: many small outputs become one.
func (b *bounding) together(ctx context.Context, out map[string]any) map[string]any {
	sum := 0
	for key, value := range out {
		text, isText := value.(string)
		if !isText {
			text = spec.JSONText(value) // what cannot be encoded is a text by now
		}
		sum += utf8.RuneCountInString(key) + utf8.RuneCountInString(text)
	}
	if sum <= 2*spec.MaxToolOutput {
		return out
	}
	raw, err := spec.JSON(b.result.Output)
	if err != nil {
		raw, err = spec.JSON(out)
	}
	if err != nil {
		return map[string]any{"error": "the result cannot be written as JSON"}
	}
	encoded := string(raw)
	_, where := b.keep(ctx, "all", encoded)
	return map[string]any{"output": b.cut(elide(encoded), spec.MaxToolOutput, where)}
}

// keep makes an artifact of a whole output. Its handle is empty when it could not; where says in words where the whole is.
func (b *bounding) keep(ctx context.Context, key, whole string) (handle, where string) {
	if b.guard.Artifacts == nil {
		return "", "they are not kept"
	}
	name, what := fileSafe(cmp.Or(b.call.Name, "output")), cmp.Or(b.result.Doing, text.Short(text.OneLine(b.call.Name), 64))
	if key != "output" {
		name, what = name+"-"+fileSafe(key), what+", "+text.Short(text.OneLine(key), 64)
	}
	handle, err := b.guard.Artifacts.Put(ctx, name, []byte(whole))
	if err != nil {
		return "", "they could not be kept: " + elide(text.Short(text.OneLine(err.Error()), 200))
	}
	b.result.Kept = append(b.result.Kept, contextscope.Listed{Handle: handle, What: what, Bytes: int64(len(whole))})
	return handle, fmt.Sprintf("load_artifact %q has all of it", handle)
}

// elideValue is a value as it is, unless a text somewhere in it says what only the guard may say.
func elideValue(value any, encoded string) any {
	elided := elide(encoded)
	if elided == encoded {
		return value
	}
	var clean any
	if err := json.Unmarshal([]byte(elided), &clean); err != nil {
		return elided
	}
	return clean
}

// fileSafe makes a foreign name usable in an artifact's name.
func fileSafe(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '_'
	}, id)
	return safe[:min(len(safe), 48)]
}
