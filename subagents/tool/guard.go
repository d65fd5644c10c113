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
	"divisi/internal/lazyregexp"
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
		if left := b.cut(shown, b.limit(false), where); left != shown {
			failures, warnings := severe(whole)
			return left + severity(spec.MaxToolOutput-utf8.RuneCountInString(left)-tagRoom,
				elideTags(failures), elideTags(warnings), where)
		}
		return shown
	}
	return b.cut(shown, b.limit(false), where)
}

// summarizes reports whether an output is to be summarised: neither a value that is no text is, nor the reason why a call failed.
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

// elideValue is a value as it is, unless a text somewhere in it reports what only the guard may say.
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

// What the guard writes into an output reports what is left out, and that a text is a summary. No output may say the same of
// itself: whatever a reader might take for these words is elided from it first.
const (
	leftOut       = "<<<LEFT_OUT"
	elidedLeftOut = "(LEFT_OUT" // no longer than what it replaces
	summaryTag    = "summary"
	errorTag      = "error"
	warningTag    = "warning"
	// markRoom is the number of characters that a marker with its handle takes at most.
	markRoom = 500
)

// An opening bracket in its look-alikes, and what a reader does not see.
const (
	bracket = `[<\x{2039}\x{ab}\x{ff1c}\x{fe64}\x{2329}\x{27e8}\x{276e}\x{2770}\x{3008}]`
	unseen  = `[\s\p{Cf}\p{Z}]*`
	slash   = unseen + `/?` + unseen
)

var (
	forgedLeftOut = lazyregexp.New(`(?i)(?:` + bracket + unseen + `){2,}LEFT[\s\p{Cf}\p{Z}_\p{Pd}]*OUT`)
	forgedSummary = lazyregexp.New(`(?i)` + bracket + `(` + slash + `summary` + unseen + `of` + unseen + `=)`)
	forgedTag     = lazyregexp.New(`(?i)` + bracket + `(` + slash + `(?:summary|error|warning)\b)`)
)

// elide takes from an output what only the guard may say. What is put in its place is no longer, stays legible, and cannot
// become a marker together with what stands around it.
func elide(text string) string {
	text = forgedLeftOut.ReplaceAllLiteralString(text, elidedLeftOut)
	return forgedSummary.ReplaceAllString(text, "($1")
}

// elideTags makes a text safe to stand between the tags of a summary: a tag of its own loses its bracket and stays legible.
func elideTags(text string) string { return forgedTag.ReplaceAllString(elide(text), "($1") }

// tagged puts an elided text between tags.
func tagged(tag, text string) string { return fmt.Sprintf("<%s>\n%s\n</%s>", tag, text, tag) }

// cut returns an elided text of more than most characters as its head and its tail, shown characters of it at most, and
// between them a marker that reports how much is missing and where it is. The marker needs markRoom. Errors mostly stand at the
// end, so that the tail is the larger part.
func cut(text string, most, shown int, where string) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head, tail := wholeLines(string(runes[:shown*3/10]), string(runes[len(runes)-shown*7/10:]))
	left := len(runes) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return fmt.Sprintf("%s\n%s %d of %d characters; %s>>>\n%s", head, leftOut, left, len(runes), where, tail)
}

// wholeLines takes the broken line from the end of a head and from the start of a tail, where little is lost by it.
func wholeLines(head, tail string) (string, string) {
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return head, tail
}
