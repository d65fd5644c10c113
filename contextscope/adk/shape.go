package adk

import (
	"encoding/json"
	"fmt"
	"math"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"
)

// likeADK gives the items ADK's shape.
func likeADK(p *pairing.Pairing, items []pairing.Item) []pairing.Item {
	for _, it := range items {
		for n, part := range it.Content.Parts {
			if content.IsEmptyPart(part) {
				p.Notef(it.Src, "parts[%d] is empty", n)
			}
		}
	}
	placed := latest(p, p.DropOrphans(items))
	placed = moves(p, placed, p.History(placed))
	doubled(p, placed)
	return answerAll(p, placed)
}

// reused notes the calls whose id an earlier call has.
func reused(p *pairing.Pairing, items []pairing.Item) {
	first := map[string]int{}
	for _, it := range items {
		content.EachCall(it.Content, func(fc *genai.FunctionCall) {
			src, used := first[fc.ID]
			switch {
			case fc.ID == "":
			case used:
				p.Notef(it.Src, "call %q has the id of a call in event %d: a result belongs to the nearest call before it",
					fc.ID, src)
			default:
				first[fc.ID] = it.Src
			}
		})
	}
}

// moves notes the results that came late, and those that gave way to later ones. It returns what history made of the items.
func moves(p *pairing.Pairing, items, placed []pairing.Item) []pairing.Item {
	there := map[int]bool{}
	for i, next := len(placed)-1, math.MaxInt; i >= 0; i-- {
		it := placed[i]
		there[it.Src] = true
		for _, src := range it.Merged {
			there[src] = true
		}
		if it.Src > next && content.HasResponses(it.Content) {
			p.Notef(it.Src, "came late: its results were put right after their calls")
		}
		next = min(next, it.Src)
	}
	for _, it := range items {
		if content.HasResponses(it.Content) && !there[it.Src] {
			p.Notef(it.Src, "was left out: later results of the same calls replace it")
		}
	}
	return placed
}

// doubled notes the calls that one content answers more than once.
func doubled(p *pairing.Pairing, items []pairing.Item) {
	for i, it := range items {
		if i == 0 || !content.HasResponses(it.Content) {
			continue
		}
		left := map[content.Key]int{}
		content.EachCall(items[i-1].Content, func(fc *genai.FunctionCall) { left[content.CallKey(fc)]++ })
		content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
			k := content.ResponseKey(fr)
			if left[k]--; left[k] < 0 {
				p.Notef(it.Src, "%s has more than one result", k)
			}
		})
	}
}

// garbled says which events of a session hold text that is no Unicode: reading JSON puts U+FFFD in its place.
func garbled(data []byte) (t contextscope.Trace, found bool) {
	if !notUnicode(data) {
		return t, false
	}
	t = contextscope.Trace{Processor: "read", What: "U+FFFD stands for text that is no Unicode"}
	var file struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(data, &file); err == nil { // it was read before, with more demands
		for i, e := range file.Events {
			if notUnicode(e) {
				t.Notes = append(t.Notes, fmt.Sprintf("event %d: text that is no Unicode was replaced by U+FFFD", i))
			}
		}
	}
	return t, true
}

// notUnicode reports whether well-formed JSON holds bytes that are not UTF-8, or the escape of half a surrogate pair.
func notUnicode(data []byte) bool {
	return !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true))
}
